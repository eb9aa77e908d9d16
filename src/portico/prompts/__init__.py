"""Owns the prompt catalog: loading, rendering and running prompts, and saying where each came from."""
