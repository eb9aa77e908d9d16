"""Owns the ways in: each door presents the event log to one kind of client."""
