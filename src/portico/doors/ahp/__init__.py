"""Owns the Agent Host Protocol: sessions of this host at `/ahp`, as channels of state and actions."""
