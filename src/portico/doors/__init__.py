"""Owns the ways in: each door is a projection of the event log in the words of one audience."""
