"""Search/replace blocks: lines to find in a text and lines to put in their place.

A block that does not match exactly is compared without regard to whitespace, and then gets the indentation of the
text. One that fits several places is refused, with a message that a model can act on.
"""

import re
from collections.abc import Sequence

from portico.domain.errors import InvalidInput
from portico.porter.text_replacement import TextReplacement, replace_text

_BLOCK = re.compile(
    r"^<{5,9} ?SEARCH[ \t]*\n(?P<old>.*?)^={5,9}[ \t]*\n(?P<new>.*?)^>{5,9} ?REPLACE[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_LINE_NUMBER = re.compile(r"\s*\d+\t")
_TAB_WIDTH = 4
_MOST_NAMED = 10


def parse_blocks(text: str) -> tuple[TextReplacement, ...]:
    """Return the blocks between SEARCH and REPLACE marks in a text, in order."""
    return tuple(TextReplacement(block["old"], block["new"]) for block in _BLOCK.finditer(text))


def apply_block(content: str, block: TextReplacement) -> str:
    """Return the text with the block applied at the one place it fits. Raises InvalidInput if there is no such place."""
    block = _without_line_numbers(block)
    if not block.old.strip():
        raise InvalidInput(
            "`search` is empty.",
            suggestion="Copy the lines to replace from the file, or create the file with write.",
        )
    if block.old in content:
        places = _exact_lines(content, block.old)
        if len(places) > 1:
            raise _ambiguous(places)
        return replace_text(content, block, everywhere=False)[0]
    lines = content.splitlines(keepends=True)
    wanted = _trimmed(block.old.splitlines())
    places = _places(lines, wanted)
    if not places:
        raise _missing(content, block)
    if len(places) > 1:
        raise _ambiguous([place + 1 for place in places])
    first, last = places[0], places[0] + len(wanted)
    fresh = _indented(_trimmed(block.new.splitlines()), wanted, lines[first:last])
    return "".join((*lines[:first], *_with_line_ends(fresh, lines[first:last]), *lines[last:]))


def _without_line_numbers(block: TextReplacement) -> TextReplacement:
    """Remove the numbers that the tool `read` puts before lines, if all lines to find have them."""
    if not all(_LINE_NUMBER.match(line) for line in block.old.splitlines() if line.strip()):
        return block
    old, new = (
        "".join(_LINE_NUMBER.sub("", line, count=1) for line in text.splitlines(keepends=True))
        for text in (block.old, block.new)
    )
    return TextReplacement(old, new)


def _exact_lines(content: str, old: str) -> list[int]:
    found, place = [], content.find(old)
    while place >= 0:
        found.append(content.count("\n", 0, place) + 1)
        place = content.find(old, place + len(old))
    return found


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Drop blank lines at the beginning and the end."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    have, want = [_plain(line) for line in lines], [_plain(line) for line in wanted]
    return [
        start
        for start in range(len(have) - len(want) + 1)
        if have[start] == want[0] and have[start : start + len(want)] == want
    ]


def _plain(line: str) -> str:
    return " ".join(line.split())


def _indented(fresh: Sequence[str], wanted: Sequence[str], original: Sequence[str]) -> list[str]:
    """Move lines to the indentation of the original, which `wanted` shows with another one."""
    known: dict[str, str] = {}
    for shown, real in zip(wanted, original, strict=True):
        if shown.strip():
            known.setdefault(_indent(shown), _indent(real))
    return [_moved(line, known) for line in fresh]


def _moved(line: str, known: dict[str, str]) -> str:
    if not line.strip():
        return ""
    indent, text = _indent(line), line.strip()
    below = [shown for shown in known if indent.startswith(shown)]
    if below:
        base = max(below, key=len)
        return known[base] + _deeper(indent[len(base) :], known[base]) + text
    # Less indented than every line to find.
    base = min(known, key=len)
    missing = len(base.expandtabs(_TAB_WIDTH)) - len(indent.expandtabs(_TAB_WIDTH))
    real = known[base]
    return real[: max(len(real) - (missing // _TAB_WIDTH if "\t" in real else missing), 0)] + text


def _deeper(more: str, base: str) -> str:
    return "\t" * (len(more.expandtabs(_TAB_WIDTH)) // _TAB_WIDTH) if "\t" in base else more


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())].rstrip("\r\n")


def _with_line_ends(fresh: Sequence[str], original: Sequence[str]) -> list[str]:
    first, last = original[0], original[-1]
    end = first[len(first.rstrip("\r\n")) :] or "\n"
    lines = [f"{line}{end}" for line in fresh]
    if lines and not last.endswith(("\r", "\n")):
        lines[-1] = fresh[-1]  # The last line of the text has no line end.
    return lines


def _ambiguous(lines: Sequence[int]) -> InvalidInput:
    named = ", ".join(map(str, lines[:_MOST_NAMED]))
    return InvalidInput(
        f"`search` fits {len(lines)} places, on lines {named}.",
        suggestion="Add the line above or below the place you mean to both search and replace.",
    )


def _missing(content: str, block: TextReplacement) -> InvalidInput:
    new = _trimmed(block.new.splitlines())
    if new and _places(content.splitlines(), new):
        return InvalidInput(
            "`search` is not in the file, but `replace` is: the change may be made already.",
            suggestion="Read the file again before you change it.",
        )
    try:
        replace_text(content, block, everywhere=False)
    except InvalidInput as error:
        hint = error.suggestion or "Read the file again and copy the lines to replace."
        return InvalidInput("`search` is not in the file.", suggestion=hint)
    raise AssertionError("an exact match was found late")
