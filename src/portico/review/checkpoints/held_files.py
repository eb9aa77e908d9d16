"""Choice of the files that a snapshot holds: bounded in size, none that may hold secrets, none behind a link."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from portico.domain.secret_files import is_private
from portico.review.files.omitted_file import OmittedFile

STAGING_PREFIX = ".portico-restore-"


class SnapshotBounds(msgspec.Struct, frozen=True):
    """Limits of a snapshot. A file that an earlier snapshot holds is kept whatever its size.

    The limits in seconds apply to `hurried` snapshots. Files are added in batches of `at_once`, the first one
    in any case. After listing has timed out, it is not tried again for `giving_up_seconds`. While an agent
    works, only files that have not changed for `resting_seconds` are added.
    """

    file_bytes: int = 50 * 1024 * 1024
    new_bytes: int = 2 * 1024 * 1024 * 1024
    at_once: int = 4000
    listing_seconds: float = 5.0
    giving_up_seconds: float = 600.0
    taking_seconds: float = 3.0
    resting_seconds: float = 2.0


class FileFacts(NamedTuple):
    """A file that was looked at: its mode and size, and when it last changed in any way."""

    mode: int
    size: int
    at: float


def part_files(workspace: Path, paths: Iterable[str]) -> tuple[dict[str, FileFacts], set[str]]:
    """Split paths into files, and folders that are repositories of their own."""
    root = str(workspace)
    files: dict[str, FileFacts] = {}
    inner: set[str] = set()
    astray = {"": False}
    for path in paths:
        name = path.rstrip("/")
        if _leads_astray(root, name.rpartition("/")[0], astray):
            continue  # A link is where its folder was, and what is found behind that is another file.
        try:
            facts = os.lstat(f"{root}/{name}")
        except OSError:
            continue  # Gone since it was listed, or listed and never there.
        if not stat.S_ISDIR(facts.st_mode):
            files[name] = FileFacts(facts.st_mode, facts.st_size, facts.st_ctime)
        elif (workspace / name / ".git").exists():
            inner.add(name)
    return files, inner


def _leads_astray(root: str, folder: str, known: dict[str, bool]) -> bool:
    """Whether a folder, or one above it, is a link; results are cached in `known`."""
    if folder not in known:
        above = _leads_astray(root, folder.rpartition("/")[0], known)
        known[folder] = above or os.path.islink(f"{root}/{folder}")  # noqa: PTH114 - of many
    return known[folder]


def look_at(workspace: Path, path: str) -> FileFacts | None:
    """Facts of a file or link; None for anything else."""
    try:
        facts = os.lstat(f"{workspace}/{path}")
    except OSError:
        return None
    held = stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)
    return FileFacts(facts.st_mode, facts.st_size, facts.st_ctime) if held else None


def choose_files(
    workspace: Path, files: Mapping[str, FileFacts], bounds: SnapshotBounds, *, without: str | None
) -> tuple[list[str], tuple[OmittedFile, ...]]:
    """New files for the snapshot: smallest first, without secrets and unreadable files."""
    sizes: list[tuple[int, str]] = []
    left_out: list[OmittedFile] = []
    for path, found in files.items():
        parts = path.split("/")
        if parts[0].startswith(STAGING_PREFIX) or any(part.casefold() == ".git" for part in parts):
            continue
        if without is not None and path.startswith(f"{without}/"):
            continue
        if not (stat.S_ISREG(found.mode) or stat.S_ISLNK(found.mode)):
            continue
        if is_private(parts):
            left_out.append(OmittedFile(path, "may hold secrets"))
        elif found.size > bounds.file_bytes:
            left_out.append(OmittedFile(path, f"larger than {bounds.file_bytes >> 20} MB"))
        elif not _readable(workspace, path, found.mode):
            left_out.append(OmittedFile(path, "cannot be read"))
        else:
            sizes.append((found.size, path))
    taken: list[str] = []
    total = 0
    for size, path in sorted(sizes):
        total += size
        if total <= bounds.new_bytes:
            taken.append(path)
        else:
            left_out.append(OmittedFile(path, f"beyond {bounds.new_bytes >> 20} MB in all"))
    return taken, tuple(sorted(left_out, key=lambda each: each.path))


def _readable(workspace: Path, path: str, mode: int) -> bool:
    open_to_all = stat.S_IROTH | stat.S_IRGRP | stat.S_IRUSR
    if not stat.S_ISREG(mode) or mode & open_to_all == open_to_all:
        return True  # As nearly all are, so the system is asked only about the others.
    return os.access(f"{workspace}/{path}", os.R_OK)
