"""Removal of escape sequences, control and deceptive characters from text shown on a terminal.

Text from agents and tools is untrusted: it may move the cursor, rename the window, write to the
clipboard, hide or reorder words. Invisible characters are removed or spelled out; visible ones stay.
"""

import re
from urllib.parse import urlsplit

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_UNFINISHED_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c\n]{0,4096}\x1b?|[ -/]*)\Z")
_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROL_BUT_ESCAPE = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")
_LINE_BREAK = re.compile(r"\r\n|[\u2028\u2029\x85]")
_DECEPTIVE = re.compile(
    r"[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_PLAIN_STYLES = frozenset({1, 2, 3, 4, 9, 22, 23, 24, 29, 39, 49})
_LINK_SCHEMES = frozenset({"http", "https", "file"})


def clean(text: str) -> str:
    """The text without escape sequences and control characters; deceptive characters are spelled out."""
    return _spell_out(_CONTROL.sub("", _ESCAPE.sub("", _LINE_BREAK.sub("\n", text))))


def clean_line(text: str) -> str:
    """`clean`, on one line."""
    return " ".join(clean(text.replace("\r", " ")).split())


def clean_output(text: str) -> str:
    """The output of a command as a terminal would show it: colours stay, other sequences are removed.

    Of a line that was overwritten (a progress bar) the last state is shown.
    """
    lines = (_last_form(line) for line in _LINE_BREAK.sub("\n", text).split("\n"))
    return _spell_out("\n".join(lines))


class StreamCleaner:
    """`clean` for streamed text, in which an escape sequence may be split."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        cut = _UNFINISHED_ESCAPE.search(text)
        end = cut.start() if cut else len(text) - text.endswith("\r")
        self._held = text[end:]
        return clean(text[:end])

    def close(self) -> str:
        held, self._held = self._held, ""
        return clean(held)


def safe_link(address: str) -> bool:
    """Whether a link may be made clickable."""
    try:
        return urlsplit(address).scheme.lower() in _LINK_SCHEMES
    except ValueError:
        return False


def _last_form(line: str) -> str:
    line = line.rstrip("\r").rpartition("\r")[2]
    coloured = _ESCAPE.sub(lambda found: _colour(found.group()), line)
    return _CONTROL_BUT_ESCAPE.sub("", re.sub(r"\x1b(?!\[[0-9;]*m)", "", coloured))


def _colour(sequence: str) -> str:
    """An escape sequence reduced to colours and weights; hidden text is not among them."""
    found = _COLOUR.fullmatch(sequence)
    if not found:
        return ""
    codes = [int(code) if code else 0 for code in found[1].replace(":", ";").split(";") if len(code) < 4]
    kept: list[int] = []
    while codes:
        code = codes.pop(0)
        if code in (38, 48):
            length = {5: 2, 2: 4}.get(codes[0] if codes else -1, 0)
            kept += [code, *codes[:length]] if 0 < length <= len(codes) else []
            del codes[:length]
        elif code == 0 or code in _PLAIN_STYLES or 30 <= code <= 47 or 90 <= code <= 107:
            kept.append(code)
    return f"\x1b[{';'.join(map(str, kept))}m" if kept else ""


def _spell_out(text: str) -> str:
    text = _DECEPTIVE.sub(lambda found: f"<U+{ord(found.group()):04X}>", text)
    return _SURROGATE.sub("\ufffd", text)
