"""Unique names of MCP servers: agents know servers by name, and keep only one of two equal ones."""

from collections.abc import Container


def unique_name(name: str, taken: Container[str]) -> str:
    """The name, with a number if it is taken."""
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique
