"""Owns text: the lines of a file, what two versions share, hunks, patches, and merges. Pure."""
