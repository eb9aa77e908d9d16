"""Owns the code component: language features of attached windows and language servers, as tools for any agent."""
