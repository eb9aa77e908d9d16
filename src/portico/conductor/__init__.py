"""Owns the chain of proxies between a client and an agent, and the proxies that Portico puts into it."""
