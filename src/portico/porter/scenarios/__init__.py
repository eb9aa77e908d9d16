"""Owns scenarios: how Porter works in a session, each one YAML file with instructions, tools and limits."""
