"""Owns what a project's own files tell about it: how it is tested, formatted and checked, and with which programs."""
