"""Owns the assembly of chains: which proxies stand between a client and an agent, in every door."""
