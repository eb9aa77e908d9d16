"""Limits that a project sets itself."""

from scanner.scan import scan


class TooMuch(Exception):
    pass


def enforce(sources, most_lines):
    found = scan(sources)
    if found.errors:
        raise TooMuch(f"cannot read {found.errors[0]}")
    if found.lines > most_lines:
        raise TooMuch(f"{found.lines} lines, {most_lines} are allowed")
