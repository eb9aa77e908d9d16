"""Syntax highlighter for code that arrives in pieces.

A piece may end inside a string or a comment of several lines. The lines since that began are
carried to the next piece, so that it is coloured as part of the whole.
"""

from functools import lru_cache
from typing import Any

from rich.syntax import Syntax
from rich.text import Text

from portico.doors.terminal.sanitizer import clean

_LONGEST_LINE = 1000
_CARRIED_LINES = 200
_STYLES = (
    ("Token.Comment", "dim italic"),
    ("Token.Keyword", "magenta"),
    ("Token.Literal.String", "green"),
    ("Token.Literal.Number", "cyan"),
    ("Token.Name.Function", "blue"),
    ("Token.Name.Class", "bold blue"),
    ("Token.Name.Decorator", "yellow"),
    ("Token.Name.Builtin", "cyan"),
    ("Token.Name.Tag", "blue"),
    ("Token.Name.Attribute", "cyan"),
    ("Token.Operator.Word", "magenta"),
    ("Token.Generic.Deleted", "red"),
    ("Token.Generic.Inserted", "green"),
    ("Token.Generic.Heading", "bold"),
    ("Token.Generic.Subheading", "cyan"),
)


def highlight(code: str, language: str, carried: str = "") -> tuple[Text, str]:
    """The coloured code, and what the next piece of the same fence must be given as `carried`."""
    code = clean(code).expandtabs(4)
    lexer = _lexer(language.lower()) if language else None
    if lexer is None or any(len(line) > _LONGEST_LINE for line in code.split("\n")):
        return Text(code, overflow="fold"), ""
    text = Text(overflow="fold")
    open_since = 0
    whole = carried + code
    for token, part in lexer.get_tokens(whole):
        kind = str(token)
        if part.strip() and not kind.startswith(("Token.Literal.String", "Token.Comment")):
            open_since = len(text) + len(part)
        text.append(part, _style(kind))
    since_line = whole.rfind("\n", 0, open_since) + 1
    return _without(text, len(carried)), _carried(whole[since_line:])


def _carried(code: str) -> str:
    return f"{code}\n" if code.strip() and code.count("\n") < _CARRIED_LINES else ""


def _without(text: Text, characters: int) -> Text:
    text.rstrip()
    return text[characters:] if characters else text


@lru_cache(maxsize=32)
def _lexer(language: str) -> Any:
    return Syntax("", language).lexer


@lru_cache(maxsize=256)
def _style(token: str) -> str:
    return next((style for prefix, style in _STYLES if token.startswith(prefix)), "")
