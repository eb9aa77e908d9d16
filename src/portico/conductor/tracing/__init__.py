"""Owns the trace of a chain: how it is written down, read again, understood and played."""
