"""Owns skills: Agent Skills of the user, the workspace and its packages, for any agent."""
