"""Rules for single lines of Markdown: fences, list items, headings, tables."""

import re
from typing import Literal

import msgspec

BlockKind = Literal["prose", "heading", "rule", "quote", "table", "item", "code"]

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_UNDERLINE = re.compile(r"(?:-+|=+)[ \t]*$")
_ITEM = re.compile(r"([-+*]|\d{1,9}[.)])([ \t]+|$)")
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ONLY_MARKS = re.compile(r"[ \t]*(?:[`~*_#>|=+:-]{1,40}|\d{1,9}[.)]?)[ \t]*")
_INDENTED_CODE = 4


class CodeFence(msgspec.Struct, frozen=True):
    """The opening line of a code fence: its mark, the column it stands in, the language it names."""

    mark: str
    indent: int
    language: str

    def closed_by(self, line: str) -> bool:
        text = line.strip()
        return (
            len(text) >= len(self.mark)
            and not text.strip(self.mark[0])
            and indent_of(line) - self.indent < _INDENTED_CODE
        )


class ListItem(msgspec.Struct, frozen=True):
    """The marker of a list item, and how many columns after it the item's text begins."""

    marker: str
    width: int
    text: str


def indent_of(line: str) -> int:
    """The columns before the first character that is no space; a tab goes to the next fourth."""
    column = 0
    for character in line:
        if character == " ":
            column += 1
        elif character == "\t":
            column += 4 - column % 4
        else:
            break
    return column


def dedent(line: str, columns: int) -> str:
    """The line without its first `columns` columns, as far as they are empty."""
    if columns == 0 or not line[:1].isspace():
        return line
    return " " * (indent_of(line) - columns) + line.lstrip(" \t")


def opening_kind(line: str, containers: list[int]) -> BlockKind:
    """The kind of block that a line opens, inside list items whose texts begin at `containers`."""
    text, indent = line.strip(), indent_of(line)
    inner = max((column for column in containers if column <= indent), default=0)
    if indent - inner >= _INDENTED_CODE:
        return "prose"
    if _FENCE.match(text):
        return "code"
    if _HEADING.match(text):
        return "heading"
    if _RULE.match(text):
        return "rule"
    if _ITEM.match(text):
        return "item"
    return "quote" if text.startswith(">") else "prose"


def fence_of(text: str, indent: int) -> CodeFence | None:
    found = _FENCE.match(text.strip())
    return CodeFence(found[1], indent, found[2]) if found else None


def item_of(line: str) -> ListItem:
    """The list item that a line begins, as `opening_kind` has found."""
    text = line.strip()
    found = _ITEM.match(text)
    marker, space = (found[1], found[2]) if found else ("", "")
    width = len(marker) + (len(space) if 1 <= len(space) <= _INDENTED_CODE else 1)
    return ListItem(marker, width, text[len(marker) :].lstrip())


def interrupts_paragraph(line: str) -> bool:
    """Whether a list item may begin right under a line of text: "2019. It was" may not."""
    item = item_of(line)
    return bool(item.text) and item.marker[:-1] in ("", "1")


def underlines(line: str) -> bool:
    """Whether a line makes the text above it a heading."""
    return _UNDERLINE.match(line.strip()) is not None


def divides_table(header: str, line: str) -> bool:
    """Whether a line makes the one above it the header of a table."""
    return "|" in header and "|" in line and _TABLE_RULE.match(line.strip()) is not None


def only_marks(line: str) -> bool:
    """Whether the beginning of a line says nothing yet about what the line will be."""
    return _ONLY_MARKS.fullmatch(line) is not None


def close_open_spans(text: str) -> str:
    """The text with an emphasis or code span closed that is still open in its last paragraph."""
    paragraph = text.rpartition("\n\n")[2]
    if paragraph.count("`") % 2:
        return text.rstrip() + "`"
    if paragraph.count("**") % 2:
        return text.rstrip().removesuffix("*").rstrip() + "**"
    return text
