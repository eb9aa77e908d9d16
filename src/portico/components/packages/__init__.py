"""Owns the packages component: sources of the packages that a workspace uses, as tools for any agent."""
