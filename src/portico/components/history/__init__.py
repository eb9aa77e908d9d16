"""Owns history: what git knows about a workspace, as read-only tools for any agent."""
