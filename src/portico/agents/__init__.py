"""Owns agent programs: the registry that names them, and the spawning and supervising of their processes."""
