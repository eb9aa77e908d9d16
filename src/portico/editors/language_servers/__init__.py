"""Owns language servers: their programs, their protocol (LSP), and answers about code that are never stale."""
