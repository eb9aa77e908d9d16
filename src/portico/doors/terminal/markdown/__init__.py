"""Owns Markdown in the terminal, block by block as it streams."""
