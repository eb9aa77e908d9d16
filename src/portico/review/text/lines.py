"""Encoding, line ends and lines of the bytes of a file.

Nothing here translates a byte on the way to a diff. A line keeps its own end, so the lines of a file joined
are the file. Text is made only to be shown, and `encode_like` brings text back into the form a file had.
"""

import codecs
from enum import Enum, StrEnum

import msgspec

# As far as git looks for a NUL before it calls a file binary.
BINARY_LOOK = 8000


class Encoding(StrEnum):
    UTF_8 = "utf-8"
    UTF_8_MARKED = "utf-8-sig"
    UTF_16_LITTLE = "utf-16-le"
    UTF_16_BIG = "utf-16-be"
    LATIN_1 = "latin-1"


_MARKS = {
    Encoding.UTF_8_MARKED: codecs.BOM_UTF8,
    Encoding.UTF_16_LITTLE: codecs.BOM_UTF16_LE,
    Encoding.UTF_16_BIG: codecs.BOM_UTF16_BE,
}


class LineBreaks(Enum):
    """Line endings of a file. A lone carriage return counts only if there are no others."""

    LINE_FEED = b"\n"
    CARRIAGE_RETURN = b"\r"
    WIDE_LITTLE = b"\n\0"
    WIDE_BIG = b"\0\n"


_WIDE = {Encoding.UTF_16_LITTLE: LineBreaks.WIDE_LITTLE, Encoding.UTF_16_BIG: LineBreaks.WIDE_BIG}


class DecodedText(msgspec.Struct, frozen=True):
    """The content of a text file without its byte order mark, and how it was written."""

    content: str
    encoding: Encoding


def looks_binary(data: bytes) -> bool:
    """Whether git would call it binary."""
    return b"\0" in data[:BINARY_LOOK]


def encoding_of(data: bytes) -> Encoding | None:
    """Encoding of a file, or None for a binary one."""
    for encoding, breaks in _WIDE.items():
        if data.startswith(_MARKS[encoding]) and len(data) % len(breaks.value) == 0:
            content = _decoded(data, encoding)
            return encoding if content is not None and "\0" not in content else None
    if looks_binary(data):
        return None
    if data.startswith(codecs.BOM_UTF8) and _decoded(data, Encoding.UTF_8_MARKED) is not None:
        return Encoding.UTF_8_MARKED
    return Encoding.UTF_8 if _decoded(data, Encoding.UTF_8) is not None else Encoding.LATIN_1


def read_text(data: bytes) -> DecodedText | None:
    """A file as text to be shown, or None for a binary one."""
    encoding = encoding_of(data)
    if encoding is None:
        return None
    mark = _MARKS.get(encoding, b"")
    return DecodedText(data[len(mark) :].decode(encoding.replace("-sig", "")), encoding)


def encode_like(original: bytes, content: str) -> bytes:
    """Text in the form of the file that it replaces: encoding, byte order mark and line ends.

    Characters that Latin-1 does not have make the file UTF-8, for nothing may be lost. Line ends are changed
    only where the file had nothing but CRLF and the text has none.
    """
    text = read_text(original)
    encoding = Encoding.UTF_8 if text is None else text.encoding
    if text is not None and "\r" not in content and _only_crlf(text.content):
        content = content.replace("\n", "\r\n")
    content = content.removeprefix("\ufeff") if encoding in _MARKS else content
    try:
        return _MARKS.get(encoding, b"") + content.encode(encoding.replace("-sig", ""))
    except UnicodeEncodeError:
        return content.encode("utf-8", "surrogatepass")


def common_breaks(*versions: bytes) -> LineBreaks | None:
    """Common line endings of all versions of a file, or None if they cannot be compared by line."""
    filled = [data for data in versions if data]
    encodings = {encoding_of(data) for data in filled}
    if None in encodings:
        return None
    wide = [_WIDE[encoding] for encoding in encodings if encoding in _WIDE]
    if wide:
        return wide[0] if len(encodings) == 1 else None
    if any(b"\r" in data for data in filled) and not any(b"\n" in data for data in filled):
        return LineBreaks.CARRIAGE_RETURN
    return LineBreaks.LINE_FEED


def split_lines(data: bytes, breaks: LineBreaks = LineBreaks.LINE_FEED) -> list[bytes]:
    """The lines, each with its own end. Only the last one may lack it."""
    end = breaks.value
    if len(end) > 1:
        return _split_wide(data, end)
    pieces = data.split(end)
    last = pieces.pop()
    lines = [piece + end for piece in pieces]
    if last:
        lines.append(last)
    return lines


def _split_wide(data: bytes, end: bytes) -> list[bytes]:
    lines: list[bytes] = []
    start = found = 0
    while (found := data.find(end, found)) >= 0:
        if found % 2:  # Halves of two neighbours.
            found += 1
            continue
        found += 2
        lines.append(data[start:found])
        start = found
    if start < len(data):
        lines.append(data[start:])
    return lines


def _decoded(data: bytes, encoding: Encoding) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _only_crlf(content: str) -> bool:
    pairs = content.count("\r\n")
    return 0 < pairs == content.count("\n") == content.count("\r")
