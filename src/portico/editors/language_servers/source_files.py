"""Source files of a tree: reading them, and what has changed on the disk since the last look.

A tree is compared as a whole before each answer, so every change is noticed: by an agent, a shell command, an
apply, a restore, or the person's own editor.
"""

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from portico.editors.language_servers.specification import LanguageServerSpec
from portico.files import real_path

CREATED, CHANGED, DELETED = 1, 2, 3
READ_LIMIT_BYTES = 5 * 1024 * 1024
MOST_FILES = 200_000
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "target", "site-packages"})
_MARK_OF_ENVIRONMENT = "pyvenv.cfg"
# File systems tell times in steps of some milliseconds; what was written in the step of a look may change unseen.
_STEP_NS = 20_000_000
_Facts = tuple[int, int, int]


def read_source(path: Path) -> str | None:
    """The text of a file on the disk; None if it is not there, too large, or not UTF-8."""
    try:
        return real_path.read(path, limit=READ_LIMIT_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return None


class TreeSnapshot:
    """The files of a tree that matter to one server, as they were at the last look."""

    def __init__(self, root: Path, spec: LanguageServerSpec) -> None:
        self.root = root
        self._endings = tuple(name for name in spec.languages if name.startswith("."))
        self._names = frozenset((*spec.project_files, *spec.languages))
        self._known: dict[str, _Facts | None] | None = None
        self.seconds = 0.0
        """Duration of the last look."""

    def compare(self) -> dict[Path, int]:
        """Files created, changed and deleted since the last look. Blocks."""
        began, looked_at = time.monotonic(), time.time_ns()
        found = {
            path: facts if facts[0] < looked_at - _STEP_NS else None
            for path, facts in self._scan(str(self.root))
        }
        known, self._known = self._known, found
        self.seconds = time.monotonic() - began
        if known is None:
            return {}
        changed = {
            Path(path): CHANGED if path in known else CREATED
            for path, facts in found.items()
            if path not in known or facts is None or known[path] != facts
        }
        return changed | {Path(path): DELETED for path in known.keys() - found.keys()}

    def _scan(self, folder: str) -> Iterator[tuple[str, _Facts]]:
        endings, names = self._endings, self._names
        for entry in _walk(folder, MOST_FILES):
            name = entry.name
            if (name.lower().endswith(endings) or name in names) and (facts := _facts(entry)) is not None:
                yield entry.path, facts


def count_suffixes(root: Path, suffixes: frozenset[str], *, most: int = 20_000) -> dict[str, int]:
    """Number of files of each kind in a tree, as far as it is looked at. Blocks."""
    counts: dict[str, int] = {}
    for entry in _walk(str(root), most):
        if (suffix := Path(entry.name).suffix.lower()) in suffixes:
            counts[suffix] = counts.get(suffix, 0) + 1
    return counts


def _walk(root: str, most: int) -> "Iterator[os.DirEntry[str]]":
    """Entries of a tree that are no folders, those near its root first, until `most` entries were seen."""
    waiting, seen = deque([root]), 0
    while waiting and seen < most:
        try:
            entries = os.scandir(waiting.popleft())
        except OSError:
            continue
        with entries:
            for entry in entries:
                seen += 1
                if not entry.is_dir(follow_symlinks=False):
                    yield entry
                elif not _is_skipped(entry):
                    waiting.append(entry.path)


def environment_stamp(tree: Path, workspace: Path) -> tuple[int, ...]:
    """Changes whenever packages are installed for the project. Blocks."""
    places: list[str] = []
    for root in dict.fromkeys((str(tree), str(workspace))):
        places += [f"{root}/node_modules/.package-lock.json", f"{root}/node_modules"]
        libraries = f"{root}/.venv/lib"
        try:
            pythons = [name for name in os.listdir(libraries) if name.startswith("python")]  # noqa: PTH208
        except OSError:
            continue
        places += [f"{libraries}/{name}/site-packages" for name in sorted(pythons)[:4]]
    return tuple(file_facts(place)[0] for place in places)


def file_facts(path: str) -> _Facts:
    """Facts that change with a file: its time, size and number; zeros if it does not exist. Blocks."""
    try:
        facts = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0, 0
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _is_skipped(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
        return True
    return entry.name in ("venv", "env") and os.path.exists(f"{entry.path}/{_MARK_OF_ENVIRONMENT}")  # noqa: PTH110


def _facts(entry: "os.DirEntry[str]") -> _Facts | None:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
