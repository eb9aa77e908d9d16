"""Owns components: capabilities that the chain adds for any agent, one folder each."""
