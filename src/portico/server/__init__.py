"""Owns the life of the server: start, daemon, discovery, watchdog."""
