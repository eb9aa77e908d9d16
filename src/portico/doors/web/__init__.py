"""Owns the web door: who may call, the page's files, and the HTTP server on the loopback address."""
