"""Owns memory: notes that outlive a session, in a Markdown file that people read and edit."""
