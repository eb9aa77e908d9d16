"""Limits that a project sets itself."""

from scanner.scan import scan


class TooMuch(Exception):
    pass


def enforce(sources, most_lines):
    _, lines, _, errors = scan(sources)
    if errors:
        raise TooMuch(f"cannot read {errors[0]}")
    if lines > most_lines:
        raise TooMuch(f"{lines} lines, {most_lines} are allowed")
