"""Owns the HTTP server on the loopback address: access control, the page and the transport of AgentService."""
