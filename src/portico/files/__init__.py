"""Owns access to the file system: bounded, link-safe and private where it has to be."""
