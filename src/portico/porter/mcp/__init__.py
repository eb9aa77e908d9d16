"""Owns Porter's side of MCP: the servers that a client names, spoken to over pipes or HTTP, and their tools."""
