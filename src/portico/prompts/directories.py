"""Directories of prompt files, and the files found in them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from portico.files.folders import open_folder
from portico.prompts.template import VARIABLE_NAME

PROMPT_SUFFIX = ".md"
MAX_ENTRIES = 20_000
"""Files and folders looked at in one directory; a directory such as `.` could hold a whole checkout."""
_PROPER = re.compile(rf"{VARIABLE_NAME.pattern}(/{VARIABLE_NAME.pattern})*")
_IMPROPER = "its name may only contain the letters a to z and A to Z, digits, - and _"

PromptOrigin = Literal["workspace", "user", "built-in"]


class PromptDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory with prompt files. Neither it nor a link in it may lead out of `boundary`.

    One that is `named` in the settings has to exist.
    """

    path: Path
    origin: PromptOrigin
    boundary: Path
    named: bool = False


class PromptFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file or folder among the prompts, before it is read. `fault` is a problem with the path itself.

    `root` is the real folder that must contain the file. `stamp` changes with the file; it is None for a link.
    """

    name: str
    origin: PromptOrigin
    path: str
    root: str
    fault: str = ""
    stamp: tuple[int, ...] | None = None


def find_prompt_files(directory: PromptDirectory, seen: set[str]) -> Iterator[PromptFile]:
    """List the files of a directory. Real folders in `seen` are passed over, and added to it.

    Paths are texts here: a directory may have thousands of files, and objects for their paths would take most of the
    time.
    """
    top = str(directory.path)
    if not os.path.lexists(top):
        if directory.named:
            yield _fault(directory, "", "the directory does not exist")
        return
    root = os.path.realpath(top)
    if not Path(root).is_relative_to(os.path.realpath(directory.boundary)):
        yield _fault(directory, "", "the directory is outside the workspace")
        return
    waiting, count = [""], 0
    while waiting:
        here = waiting.pop()
        real = os.path.normpath(f"{root}/{here}")
        if real in seen:
            continue
        seen.add(real)
        try:
            inside = _listed(real)
        except OSError as error:
            yield _fault(directory, here, f"the folder cannot be read: {error.strerror}")
            continue
        count += len(inside)
        if count > MAX_ENTRIES:
            words = f"the directory has more than {MAX_ENTRIES:,} entries; the rest is left out"
            yield _fault(directory, "", words)
            return
        for found in inside:
            within = f"{here}/{found.name}" if here else found.name
            if found.is_folder:
                waiting.append(within)
            elif (file := _file(directory, root, within, found)) is not None:
                yield file


class _Found(msgspec.Struct, frozen=True, order=True, gc=False):
    name: str
    is_folder: bool
    is_link: bool
    stamp: tuple[int, ...] | None


def _listed(folder: str) -> list[_Found]:
    with open_folder(folder) as opened, opened.scan() as found:
        return sorted(_facts(one) for one in found if not one.name.startswith("."))


def _facts(entry: os.DirEntry[str]) -> _Found:
    is_folder, is_link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
    stamp = None
    if not is_folder and not is_link and entry.name.endswith(PROMPT_SUFFIX):
        facts = entry.stat(follow_symlinks=False)
        stamp = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return _Found(entry.name, is_folder, is_link, stamp)


def _file(directory: PromptDirectory, root: str, within: str, found: _Found) -> PromptFile | None:
    if found.is_link and os.path.isdir(f"{root}/{within}"):  # noqa: PTH112 - pathlib's fails where it may not look
        return _fault(directory, within, "it is a link to a folder, which is not followed")
    if not within.endswith(PROMPT_SUFFIX):
        return None
    bare = within.removesuffix(PROMPT_SUFFIX)
    return PromptFile(
        name=printable_path(bare),
        origin=directory.origin,
        path=f"{directory.path}/{within}",
        root=root,
        fault="" if _PROPER.fullmatch(bare) else _IMPROPER,
        stamp=found.stamp,
    )


def _fault(directory: PromptDirectory, within: str, fault: str) -> PromptFile:
    """Return an entry for a folder that is not searched, under a name that no prompt can have."""
    path = f"{directory.path}/{within}" if within else str(directory.path)
    name = f"{within}/" if within or not directory.named else f"{path}/"
    return PromptFile(
        name=printable_path(name),
        origin=directory.origin,
        path=path,
        root=str(directory.path),
        fault=fault,
    )


def printable_path(text: str) -> str:
    """Return a file name as valid text: on disk it may be any bytes."""
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "replace")
