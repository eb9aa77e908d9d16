"""Owns the session client: one way to prompt and watch a session, in this process or on a server."""
