"""Owns the commands people type, one file each, and is the only place that builds concrete objects."""
