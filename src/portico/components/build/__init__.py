"""Owns build: checking, building and testing a project with its own tools, for any agent."""
