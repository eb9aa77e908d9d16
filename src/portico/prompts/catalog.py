"""Catalog of the prompt files of a workspace, its user and Portico.

A broken file is listed with its problem, and still hides a prompt of the same name: otherwise a mistake in one file
would silently send another text.
"""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.files import real_path
from portico.files.regular import FileTooLarge, NotRegularFile
from portico.prompts.directories import (
    PromptDirectory,
    PromptFile,
    PromptOrigin,
    find_prompt_files,
    printable_path,
)
from portico.prompts.errors import InvalidPrompt
from portico.prompts.prompt import MAX_PROMPT_BYTES, CatalogPrompt, read_prompt

BUILT_IN_FOLDER = Path(__file__).parent / "built_in"
_CACHED_BYTES = 32 * 1024 * 1024
_CACHED_LISTS = 16

_ReadFile = tuple[CatalogPrompt | None, str]


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A prompt file after it was read. `hides` and `hidden_by` are paths of prompts of the same name."""

    name: str
    origin: PromptOrigin
    path: str
    prompt: CatalogPrompt | None
    problem: str = ""
    hides: str = ""
    hidden_by: str = ""


class PromptCache:
    """Prompt files that were read before, by path, and lists of them, until a file changes. Safe in threads."""

    def __init__(self, limit: int = _CACHED_BYTES) -> None:
        self._limit = limit
        self._bytes = 0
        self._read: dict[str, tuple[tuple[int, ...], _ReadFile]] = {}
        self._lists: dict[tuple[PromptDirectory, ...], tuple[list[PromptFile], list[CatalogEntry]]] = {}

    def entries(
        self, directories: tuple[PromptDirectory, ...], files: list[PromptFile]
    ) -> list[CatalogEntry] | None:
        """Return the list that was kept for these very files, or None."""
        kept = self._lists.get(directories)
        return kept[1] if kept is not None and kept[0] == files else None

    def keep(
        self,
        directories: tuple[PromptDirectory, ...],
        files: list[PromptFile],
        entries: list[CatalogEntry],
    ) -> None:
        """Keep a list, unless one of its files has to be read each time: a link, or one that cannot be read."""
        if all(file.fault or self._is_read(file) for file in files):
            if len(self._lists) >= _CACHED_LISTS:
                self._lists = {}
            self._lists[directories] = (files, entries)

    def _is_read(self, file: PromptFile) -> bool:
        kept = self._read.get(file.path)
        return kept is not None and kept[0] == file.stamp

    def read(self, file: PromptFile) -> _ReadFile:
        kept = self._read.get(file.path)
        if kept is not None and kept[0] == file.stamp:
            return kept[1]
        try:
            found = _read(file)
        except _Unreadable as error:  # It may be readable the next time, though the file did not change.
            return None, str(error)
        if file.stamp is None:
            return found
        if self._bytes > self._limit:
            self._read, self._lists, self._bytes = {}, {}, 0
        self._bytes += 0 if found[0] is None else len(found[0].text)
        self._read[file.path] = (file.stamp, found)
        return found


class PromptCatalog:
    """The prompts of some directories, the first of which win. Each call looks at the files again, and blocks."""

    def __init__(self, directories: Sequence[PromptDirectory], cache: PromptCache | None = None) -> None:
        self.directories = tuple(directories)
        self._cache = cache or PromptCache()

    def entries(self) -> list[CatalogEntry]:
        """Return all prompts by name; a prompt comes before the one it hides.

        With the same cache it is the same list until a file changes, so that callers can keep what they make of it.
        """
        files = self._files()
        if (kept := self._cache.entries(self.directories, files)) is not None:
            return kept
        entries = [entry for _, found in sorted(self._by_name(files).items()) for entry in _ranked(found)]
        self._cache.keep(self.directories, files, entries)
        return entries

    def find(self, name: str) -> tuple[CatalogEntry, CatalogPrompt]:
        """Return the prompt with a name. Raises InvalidInput if it is unknown or broken."""
        by_name = self._by_name(self._files())
        if name not in by_name:
            raise _unknown(name, sorted(by_name))
        entry = _ranked(by_name[name])[0]
        if entry.prompt is None:
            raise InvalidInput(
                f"The prompt {name} cannot be used: {entry.problem}.",
                suggestion=f"Correct it in {entry.path}",
            )
        return entry, entry.prompt

    def _files(self) -> list[PromptFile]:
        seen: set[str] = set()
        return [file for directory in self.directories for file in find_prompt_files(directory, seen)]

    def _by_name(self, files: list[PromptFile]) -> dict[str, list[CatalogEntry]]:
        found: dict[str, list[CatalogEntry]] = {}
        for file in files:
            prompt, problem = self._cache.read(file)
            name = (prompt.matter.name if prompt else None) or file.name
            entry = CatalogEntry(
                name=name,
                origin=file.origin,
                path=printable_path(file.path),
                prompt=prompt,
                problem=problem,
            )
            found.setdefault(name, []).append(entry)
        return found


def _ranked(namesakes: list[CatalogEntry]) -> list[CatalogEntry]:
    """Return the prompts of one name, each with the one that it hides or is hidden by."""
    if len(namesakes) == 1:
        return namesakes
    first, *others = namesakes
    return [
        msgspec.structs.replace(first, hides=others[0].path),
        *(msgspec.structs.replace(one, hidden_by=first.path) for one in others),
    ]


def _unknown(name: str, names: list[str]) -> InvalidInput:
    near = get_close_matches(name, names, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "List them with: portico prompts list"
    return InvalidInput(f'Unknown prompt "{name}".', suggestion=hint)


class _Unreadable(Exception):
    """The bytes of a file could not be read now, for the reason that is the message."""


def _read(file: PromptFile) -> _ReadFile:
    """Return the prompt in a file, or what is wrong with its path or text. _Unreadable if it could not be read."""
    if file.fault:
        return None, file.fault
    try:
        return read_prompt(_bytes_of(file)), ""
    except InvalidPrompt as error:
        return None, error.why


def _bytes_of(file: PromptFile) -> bytes:
    try:
        return real_path.retry_on_link(lambda: real_path.read(_resolved(file), limit=MAX_PROMPT_BYTES))
    except FileTooLarge:
        raise _Unreadable(f"the file is larger than {MAX_PROMPT_BYTES // 1024} KB") from None
    except (FileNotFoundError, IsADirectoryError, NotRegularFile):
        raise _Unreadable("it is not a regular file") from None
    except OSError as error:
        raise _Unreadable(f"it cannot be read: {error.strerror}") from error


def _resolved(file: PromptFile) -> str:
    path = os.path.realpath(file.path)
    if not Path(path).is_relative_to(file.root):
        raise _Unreadable("it is a link to a file outside its folder")
    return path
