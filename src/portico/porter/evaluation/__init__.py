"""Evaluation of models: tasks loaded from folders, the workspaces they run in, and scripted solutions."""
