"""Owns settings, who owns each of them, their precedence, and secrets."""
