"""Reader of the editor's state file; a state that is stale, too large or not ours counts as none.

Any other state is none: a prompt without context is better than one with a wrong one.
"""

import os
import stat
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from portico.domain import codecs

MAX_AGE_SECONDS = 30.0
MAX_FILE_BYTES = 1 << 20
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)

T = TypeVar("T")


class EditorSelection(msgspec.Struct, frozen=True, rename="camel"):
    """Lines count from 1."""

    text: str
    start_line: int | None = None
    end_line: int | None = None


class EditorProblem(msgspec.Struct, frozen=True, rename="camel"):
    """One complaint about a file; about the active one if it names none."""

    message: str
    path: str | None = None
    line: int | None = None
    severity: str | None = None


class EditorState(msgspec.Struct, frozen=True, kw_only=True):
    active_file: str
    language_id: str | None = None
    selection: EditorSelection | None = None
    open_files: tuple[str, ...] = ()
    diagnostics: tuple[EditorProblem, ...] = ()


def read_editor_state(path: Path, now: float) -> EditorState | None:
    """The state in a file that was touched within 30 seconds of `now`, in seconds since 1970."""
    data = _fresh_bytes(path, now)
    if data is None:
        return None
    try:
        fields = codecs.decode_json(data, dict[str, Any])
        active_file = codecs.convert(fields.get("activeFile"), str)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not active_file or "\0" in active_file:
        return None
    return EditorState(
        active_file=active_file,
        language_id=_fitting(fields.get("languageId"), str),
        selection=_fitting(fields.get("selection"), EditorSelection),
        open_files=_all_fitting(fields.get("openFiles"), str),
        diagnostics=_all_fitting(fields.get("diagnostics"), EditorProblem),
    )


def _fresh_bytes(path: Path, now: float) -> bytes | None:
    """A file that is a link, a pipe, another person's, too old, from the future or too large has nothing to say."""
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        if not _is_usable(os.fstat(descriptor), now):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= MAX_FILE_BYTES else None


def _is_usable(status: os.stat_result, now: float) -> bool:
    own = os.name == "nt" or status.st_uid == os.getuid()
    fresh = abs(now - status.st_mtime) <= MAX_AGE_SECONDS
    return own and fresh and stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES


def _fitting(value: Any, expected: type[T]) -> T | None:
    try:
        return codecs.convert(value, expected)
    except msgspec.ValidationError:
        return None


def _all_fitting(values: Any, expected: type[T]) -> tuple[T, ...]:
    found = (_fitting(value, expected) for value in values) if isinstance(values, list) else ()
    return tuple(value for value in found if value is not None)
