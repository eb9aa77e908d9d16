"""Owns review inside the chain: proxies and tools by which any agent and any ACP editor take part in it."""
