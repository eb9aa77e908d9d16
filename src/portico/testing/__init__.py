"""Owns the public fakes, above all a scripted ACP agent; only tests may import them."""
