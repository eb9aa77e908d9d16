"""Owns the event log of a session: journal, watch, replay, export, recovery."""
