"""Owns the Model Context Protocol: messages, client, server, stdio and streamable HTTP."""
