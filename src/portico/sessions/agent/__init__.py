"""Owns the agent side of a session: connection, pool, resume, supervision, login."""
