"""Owns JSON-RPC 2.0 over byte streams: framing, connection, ordering and the tap. Knows no ACP."""
