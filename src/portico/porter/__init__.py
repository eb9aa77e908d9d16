"""Owns Porter, the built-in agent: its loop, its commands and its tools."""
