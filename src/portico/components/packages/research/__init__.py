"""Owns research in packages: a question, a second session of the agent that only reads there, and its findings."""
