"""Owns how a folder is changed: all of a change or none of it, whatever fails or is killed in the middle."""
