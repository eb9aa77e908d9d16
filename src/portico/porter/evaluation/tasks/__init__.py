"""Owns the tasks themselves: one module each, with its files, its prompt, its check and its script."""
