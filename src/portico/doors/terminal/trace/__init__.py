"""Owns the drawing of recorded traces in the terminal."""
