"""Owns the drawing of a session in the terminal, live or plain."""
