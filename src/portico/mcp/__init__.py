"""Owns the MCP codec: messages, tools, server and HTTP framing."""
