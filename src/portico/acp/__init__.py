"""Owns the Agent Client Protocol: its generated message types and the two ends of a connection."""
