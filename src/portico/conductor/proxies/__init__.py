"""Owns the proxies that Portico itself puts into a chain, one to a file."""
