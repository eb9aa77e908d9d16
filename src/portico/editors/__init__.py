"""Owns the implementations of the editor port: who reads buffers, applies edits and runs commands."""
