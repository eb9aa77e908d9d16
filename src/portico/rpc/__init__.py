"""Owns JSON-RPC 2.0 over byte streams: framing, connection, ordering and tap. Knows no ACP."""
