"""Owns agent programs: the registry that names them, their processes and their sandboxes."""
