"""Owns the translation of ACP content to events: text, tool calls, plans, attachments, mentions."""
