"""Owns the trees of their own in which sessions work that propose: made, kept in step, read for changes."""
