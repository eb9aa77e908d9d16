"""Replacement of one folder by another in the bytes of a JSON message, in every spelling of a path.

Nothing is decoded: a message that does not name the folder costs one search for a piece of its name. A path
may stand in it with escapes of any JSON writer, bare or as a `file:` address, and ends where its name does.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import unquote

import msgspec

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_BEFORE = rb"(?:(?<![\w.~-])|(?<=\\[bfnrt])|(?<=\\u[\da-fA-F]{4})|(?<=-[A-Za-z])|(?<=[\d;\[]m))"
"""Not in the middle of a longer path; an escape, a flag of a compiler or a colour may end in a letter."""
_PUNCTUATION = rb"\xe2[\x80\x81]|\xe3\x80|\xef\xbc"
_ESCAPED_SIGNS = rb"00[0-7]|20[0-6]|30[01]|[fF][fF]0"
_AFTER = (
    rb"(?![\w~-]|\.\w|%(?!2[fF])[\da-fA-F]{2}|\\u(?!" + _ESCAPED_SIGNS + rb")"
    rb"|(?!" + _PUNCTUATION + rb")[\x80-\xff])"
)
"""The name does not go on: `/work/app` is neither in `/work/app-old` nor in `/work/app.old`."""
_FILE = rb"(file:(?:\\?/){2}(?:localhost)?)"


class PathRewriter:
    """Puts `new` in the place of every folder of `olds`, and of nothing that only begins like one."""

    def __init__(self, olds: Sequence[str], new: str) -> None:
        longest_first = sorted(set(olds), key=len, reverse=True)
        self._pieces = tuple({_piece(old) for old in longest_first})
        bare = b"|".join(b"".join(map(_in_json, old)) for old in longest_first)
        address = b"|".join(b"".join(map(_in_address, _address_path(old))) for old in longest_first)
        self._pattern = re.compile(
            _FILE + rb"(?:" + address + rb")" + _AFTER
            + rb"|" + _BEFORE + rb"(?:" + bare + rb")" + _AFTER
        )  # fmt: skip
        self._bare = msgspec.json.encode(new)[1:-1]
        self._address = PurePath(new).as_uri().removeprefix("file://").encode()

    def is_in(self, data: bytes) -> bool:
        """Whether a look at the paths is worth while."""
        for piece in self._pieces:  # noqa: SIM110 - this runs for every word of an agent, and any() costs more
            if piece in data:
                return True
        return False

    def __call__(self, data: bytes) -> bytes:
        return self._pattern.sub(self._put, data) if self.is_in(data) else data

    def _put(self, found: re.Match[bytes]) -> bytes:
        scheme: bytes | None = found[1]
        return self._bare if scheme is None else scheme + self._address


def _piece(path: str) -> bytes:
    """The longest name in a path that every writer spells the same."""
    plain = [name for name in PurePath(path).parts if _PLAIN.fullmatch(name)]
    return max(plain, key=len, default="").encode()


def _address_path(path: str) -> str:
    return unquote(PurePath(path).as_uri().removeprefix("file://"))


def _in_json(letter: str) -> bytes:
    """Pattern of all JSON spellings of a character."""
    if letter == "/":
        return rb"\\?/"
    if letter == "\\":
        return rb"(?:\\\\|/)"
    written = re.escape(msgspec.json.encode(letter)[1:-1])
    if _PLAIN.fullmatch(letter):
        return written
    units = letter.encode("utf-16-be")
    escaped = b"".join(
        rb"\\+u" + b"".join(_either_case(digit) for digit in units[at : at + 2].hex())
        for at in range(0, len(units), 2)
    )
    return rb"(?:" + written + rb"|" + escaped + rb")"


def _in_address(letter: str) -> bytes:
    """Pattern of a character in a URL, where it may be percent-encoded."""
    if letter == "/":
        return rb"\\?/"
    percents = b"".join(rb"%" + b"".join(map(_either_case, f"{byte:02x}")) for byte in letter.encode())
    return rb"(?:" + _in_json(letter) + rb"|" + percents + rb")"


def _either_case(digit: str) -> bytes:
    return digit.encode() if digit.isdecimal() else f"[{digit}{digit.upper()}]".encode()
