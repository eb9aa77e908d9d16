"""The methods of ACP that open and close sessions."""

CREATING_METHODS = frozenset({"session/new", "session/fork"})
"""The agent chooses the session's id, in its response."""
REOPENING_METHODS = frozenset({"session/load", "session/resume"})
"""The client names the session, in its request."""
OPENING_METHODS = CREATING_METHODS | REOPENING_METHODS
CLOSING_METHODS = frozenset({"session/close", "session/delete"})
