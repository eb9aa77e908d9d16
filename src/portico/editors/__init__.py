"""Owns the implementations of the editor port: attached windows and the local fallback."""
