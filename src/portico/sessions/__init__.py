"""Owns the life of a session: its service, its turn state machine, and the ports it needs from outside."""
