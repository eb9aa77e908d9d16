"""Owns the life of a session: the service, the turn state machine, and the ports it needs from outside."""
