"""Owns what review does with attached editor windows: unsaved texts are seen, and files are changed through them."""
