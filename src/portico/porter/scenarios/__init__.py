"""Scenarios: YAML files with the instructions, tools and limits Porter works with."""
