"""Owns how a session looks to a person at a terminal, and how that person answers and types."""
