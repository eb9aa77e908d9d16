"""Owns traces of a chain: writing, reading, following and replaying them."""
