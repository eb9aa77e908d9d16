"""Owns the proxies that Portico puts into a chain besides permissions, MCP and review."""
