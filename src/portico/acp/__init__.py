"""Owns the Agent Client Protocol: its generated message types and both sides of a connection."""
