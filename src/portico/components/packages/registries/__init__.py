"""Owns the way to the archives of packages: the caches of their clients, and their registries."""
