"""Owns how a session looks on a terminal, and how a person answers and types there."""
