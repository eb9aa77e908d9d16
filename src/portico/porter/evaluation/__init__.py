"""Evaluation tasks for Porter, with checks that run and scripted models that solve them."""
