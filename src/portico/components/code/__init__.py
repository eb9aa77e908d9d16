"""Owns the code component: language features and the terminal of an attached window, as tools for any agent."""
