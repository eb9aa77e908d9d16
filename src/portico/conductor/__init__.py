"""Owns the chain from editor to agent: which proxies stand in it and how a message travels through."""
