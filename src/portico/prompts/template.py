r"""Template text of a prompt: parsing and filling of placeholders.

`{{ name }}` is replaced by the value of a variable. A backslash escapes the braces after it: `\{{` is two braces,
`\\{{ name }}` is a backslash and a value. Elsewhere a backslash is literal. Values are not expanded again.
"""

import re
from collections.abc import Mapping

import msgspec

from portico.prompts.errors import InvalidPrompt

VARIABLE_NAME = re.compile(r"[A-Za-z0-9_-]+")
# A run of backslashes is matched once, from its beginning, so that a file full of them stays fast.
_OPENING = re.compile(r"(?<!\\)(?P<slashes>\\*+)(?P<braces>\{{2,})")
_REST = re.compile(rf"[ \t]*(?P<name>{VARIABLE_NAME.pattern})[ \t]*\}}\}}")
_SHOWN = 40


class Placeholder(msgspec.Struct, frozen=True):
    """A placeholder and its line in the file."""

    name: str
    line: int


class PromptTemplate(msgspec.Struct, frozen=True):
    """Literal text and placeholders, in order."""

    pieces: tuple[str | Placeholder, ...]

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Placeholder))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with each placeholder replaced by its value, which must exist."""
        return "".join(piece if isinstance(piece, str) else values[piece.name] for piece in self.pieces)


def parse_template(text: str, first_line: int = 1) -> PromptTemplate:
    """Parse a text. Raises InvalidPrompt for braces that are neither a placeholder nor escaped."""
    pieces: list[str | Placeholder] = []
    done = 0
    line, counted = first_line, 0
    while opening := _OPENING.search(text, done):
        slashes, braces = len(opening["slashes"]), opening["braces"]
        kept = text[done : opening.start()] + "\\" * (slashes // 2)
        if slashes % 2:
            pieces.append(kept + braces)
            done = opening.end()
            continue
        line, counted = line + text.count("\n", counted, opening.start()), opening.start()
        rest = _REST.match(text, opening.end())
        if rest is None:
            raise InvalidPrompt(_no_placeholder(text, opening.end()), line)
        pieces += [kept + braces[2:], Placeholder(rest["name"], line)]
        done = rest.end()
    return PromptTemplate(tuple(piece for piece in (*pieces, text[done:]) if piece))


def _no_placeholder(text: str, start: int) -> str:
    content = text[start:].partition("\n")[0]
    inside, closing, _ = content.partition("}}")
    shown = "{{" + (inside + closing)[:_SHOWN]
    return f"{shown} is not a placeholder like {{{{ name }}}}; write literal braces as \\{{{{"
