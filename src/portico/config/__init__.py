"""Owns settings: owners, precedence and secrets, handed down by the cli and never looked up from below."""
