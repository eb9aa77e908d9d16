"""Marks of proposed files: line counts, generated, binary, denied, conflict, warnings.

Computed once, when a proposal changes, and kept with it. Files are looked at, and nothing is written.
"""

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from portico.domain.errors import PermissionDenied, PorticoError
from portico.domain.protected_files import controlling_program
from portico.review.files.apply_plan import ApplyLimits, ApplyPlanner, NotWritable
from portico.review.files.disk import Disk
from portico.review.files.path_rules import link_leads_to
from portico.review.proposals.protection import Protection
from portico.review.text.change_set import LINK_MODE, ChangeOperation, ChangeSet, FileChange
from portico.review.text.diffs import diff
from portico.review.text.lines import encoding_of

LARGE_BYTES = 1024 * 1024
_MINIFIED_LINE = 400
_LOOK_BYTES = 2048
_LOOKED_AT_ONE_BY_ONE = 2000

_GENERATED_NAMES = (
    "*.lock", "*.lockb", "*-lock.json", "*-lock.yaml", "*.lock.json", "npm-shrinkwrap.json", "go.sum",
    "*.min.js", "*.min.css", "*.min.mjs", "*.map", "*.snap", "*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py",
    "*.pb.go", "*.pb.cc", "*.pb.h", "*_pb.js", "*_pb.ts", "*_pb.d.ts", "*.g.dart", "*.freezed.dart",
    "*.designer.cs", "*.pyc", "*.class", "*.tsbuildinfo",
)  # fmt: skip
_GENERATED_FOLDERS = {"node_modules", "__pycache__", "__generated__", "bower_components"}
_GENERATED_WORDS = re.compile(
    rb"@generated\b|(?:code|file) (?:is |was )?(?:auto-?|automatically )?generated\b|do not edit",
    re.IGNORECASE,
)
_MINIFIABLE = (".js", ".css", ".mjs", ".cjs")


class FileMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about one proposed file. A `denied` file can be viewed, but not applied."""

    added: int = 0
    removed: int = 0
    binary: bool = False
    generated: bool = False
    denied: bool = False
    conflict: bool = False
    warning: str | None = None


def mark(
    workspace: Path,
    changes: ChangeSet,
    protection: Protection,
    ignored: Collection[str] = (),
    *,
    disk: Disk | None = None,
) -> dict[str, FileMark]:
    """Marks of all files, by path. `ignored` are paths that the repository ignores.

    Conflicts are found only with a `disk`, which is the workspace as the person sees it.
    """
    troubles = {} if disk is None else _troubles(workspace, changes, disk)
    return {
        change.path: _mark(workspace, change, protection, ignored, troubles.get(change.path))
        for change in changes.changes
    }


def _mark(
    workspace: Path,
    change: FileChange,
    protection: Protection,
    ignored: Collection[str],
    trouble: PorticoError | bool | None,
) -> FileMark:
    old = b"" if change.old is None else change.old.loaded()
    new = b"" if change.new is None else change.new.loaded()
    compared = diff(old, new)
    paths = [path for path in (change.path, change.old_path) if path is not None]
    against = next((reason for path in paths if (reason := protection.reason_against(path))), None)
    against = against or reason_against_link(workspace, change, protection)
    if against is None and isinstance(trouble, PermissionDenied) and not isinstance(trouble, NotWritable):
        against = trouble.message
    message = trouble.message if isinstance(trouble, PorticoError) else None
    warnings = [
        against or message or _obedience(paths),
        change.warning,
        *_warnings(workspace, change, old, new),
    ]
    return FileMark(
        added=compared.added,
        removed=compared.removed,
        binary=compared.breaks is None,
        generated=change.path in ignored or (not change.links and is_generated(change.path, new or old)),
        denied=against is not None,
        conflict=trouble is True,
        warning=" ".join(one for one in warnings if one) or None,
    )


def _obedience(paths: Iterable[str]) -> str | None:
    program = next((found for path in paths if (found := controlling_program(path.split("/")))), None)
    return (
        None if program is None else f"It is a file that {program} obeys: look closely before you apply it."
    )


def is_generated(path: str, data: bytes) -> bool:
    """Whether a program wrote the file, as far as its name and first lines tell."""
    *folders, name = path.casefold().split("/")
    if not _GENERATED_FOLDERS.isdisjoint(folders):
        return True
    if any(fnmatchcase(name, pattern) for pattern in _GENERATED_NAMES):
        return True
    if _GENERATED_WORDS.search(b"\n".join(data[:_LOOK_BYTES].split(b"\n")[:5])):
        return True
    return name.endswith(_MINIFIABLE) and len(data) > _MINIFIED_LINE * (data.count(b"\n") + 1)


def reason_against_link(workspace: Path, change: FileChange, protection: Protection) -> str | None:
    """The reason why a symbolic link must not be made; None if it may, or the change makes none."""
    if change.new_mode != LINK_MODE:
        return None
    leads_to = link_leads_to(workspace, change.path, change.new_data or b"")
    if leads_to is None:
        return "It leads out of the workspace and cannot be applied."
    if protection.reason_against(leads_to) is not None:
        return f"It leads to {leads_to}, which is protected, and cannot be applied."
    return None


def _link_warnings(change: FileChange, old: bytes, new: bytes) -> list[str]:
    leads = new.decode(errors="backslashreplace")
    led = old.decode(errors="backslashreplace")
    if change.new_mode != LINK_MODE:
        gone = "It is a symbolic link" if change.new is None else "It stops being a symbolic link"
        return [f"{gone} to {led}."]
    if change.old is None or change.old_mode != LINK_MODE:
        return [f"It {'is' if change.old is None else 'becomes'} a symbolic link to {leads}."]
    return [f"It is a symbolic link: to {led} so far, and to {leads} then."]


def _warnings(workspace: Path, change: FileChange, old: bytes, new: bytes) -> list[str]:
    if change.links:
        return _link_warnings(change, old, new)
    warnings: list[str] = []
    before, after = change.old_mode, change.new_mode
    runs = after is not None and after & 0o111
    if before is not None and after is not None and before != after:
        gained, lost = runs and not before & 0o111, before & 0o111 and not runs
        becomes = "becomes a program" if gained else "stops being a program" if lost else "gets other rights"
        warnings.append(f"It {becomes} ({before:o} → {after:o}).")
    elif change.operation is ChangeOperation.CREATE and runs:
        warnings.append("It is a program.")
    if old and new:
        if "none" not in (_ends(old), _ends(new)) and _ends(old) != _ends(new):
            warnings.append(f"Its line ends change from {_ends(old)} to {_ends(new)}.")
        encodings = encoding_of(old), encoding_of(new)
        if encodings[0] != encodings[1] and None not in encodings and not (old.isascii() or new.isascii()):
            warnings.append(f"Its encoding changes from {encodings[0]} to {encodings[1]}.")
    if max(len(old), len(new)) > LARGE_BYTES:
        warnings.append(f"It is large ({max(len(old), len(new)) / LARGE_BYTES:.1f} MB).")
    if (workspace / change.path).is_symlink():
        warnings.append("It is a symbolic link; the file that it points to changes.")
    return warnings


def _ends(data: bytes) -> str:
    pairs, feeds, returns = data.count(b"\r\n"), data.count(b"\n"), data.count(b"\r")
    if not feeds and not returns:
        return "none"
    if pairs == feeds == returns:
        return "CRLF"
    if not returns:
        return "LF"
    return "CR" if not feeds else "mixed"


def _troubles(workspace: Path, changes: ChangeSet, disk: Disk) -> dict[str, PorticoError | bool]:
    """The obstacle to each change now: a conflict (True) or an error."""

    def plan(some: ChangeSet) -> dict[str, PorticoError | bool]:
        planned = ApplyPlanner(workspace, disk, ApplyLimits()).plan(some)
        return {change.path: True for change in planned.conflicted}

    try:
        return plan(changes)
    except PorticoError:
        if len(changes.changes) > _LOOKED_AT_ONE_BY_ONE:
            return {}
    found: dict[str, PorticoError | bool] = {}
    for change in changes.changes:
        try:
            found |= plan(ChangeSet((change,), emptied=changes.emptied))
        except PorticoError as error:
            found[change.path] = error
    return found
