"""Owns the component `editor-tools`: the tools of an attached window and its extensions, for any agent."""
