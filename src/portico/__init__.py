"""Portico stands between an editor and any coding agent, and keeps the conversation between them."""

__version__ = "0.1.0"
