"""JSON with comments and trailing commas, converted to plain JSON."""

import re

_TOKEN = re.compile(
    r"""
    (?P<string>"(?:\\.|[^"\\])*+(?:"|\\?\Z))  # one without an end takes the rest, so no text is scanned twice
  | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<comma>,)(?=(?:\s|//[^\n]*|/\*.*?\*/)*+[}\]])  # possessive: a bracket inside a comment is none
    """,
    re.VERBOSE | re.DOTALL,
)


def to_json(text: str) -> str:
    """Convert a document to plain JSON. Line breaks are kept, so that line numbers of errors are right."""
    return _TOKEN.sub(_replacement, text)


def _replacement(found: re.Match[str]) -> str:
    if found["string"]:
        return found["string"]
    return re.sub(r"[^\n]", " ", found[0])
