"""Output of programs as plain text."""

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|\Z)|[ -/]*[0-~])", re.DOTALL)


def plain_text(output: str) -> str:
    """Output without escape sequences and overwritten lines."""
    text = _ESCAPES.sub("", output).replace("\r\n", "\n")
    return "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))
