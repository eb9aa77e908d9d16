"""Owns ACP over the network: chains at `/acp`, over WebSocket and over HTTP with server-sent events."""
