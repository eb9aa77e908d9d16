"""Searches text in the workspace with ripgrep, git, or Porter's own program.

All three have the same command line and output format; if one fails, the next one is used.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.secret_files import is_private
from portico.porter.workspace import Workspace
from portico.processes.executables import CannotRun
from portico.processes.git_settings import safe_git_environ, safe_git_options
from portico.processes.process_group import spawn
from portico.rpc.framing import LineSplitter
from portico.rpc.streams import READ_SIZE

_LONGEST_LINE = 64 * 1024
_RECORD = re.compile(rb"([^\0]+)\0(\d+)[:\0](.*)", re.DOTALL)
_FOUND, _NOT_FOUND = 0, 1


class TextQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A search. `text` is a Python regular expression if `is_regex`."""

    text: str
    is_regex: bool = False
    ignore_case: bool = False
    whole_word: bool = False

    def as_python(self) -> str:
        pattern = self.text if self.is_regex else re.escape(self.text)
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)" if self.whole_word else pattern
        return f"(?i:{pattern})" if self.ignore_case else pattern


class TextMatch(msgspec.Struct, frozen=True):
    path: Path
    line: int
    text: str


class SearchResult(msgspec.Struct):
    """Matches in the order found; `cut` if there are more than the limit."""

    matches: list[TextMatch] = []
    cut: bool = False

    def by_file(self) -> dict[Path, list[TextMatch]]:
        grouped: dict[Path, list[TextMatch]] = {}
        for match in self.matches:
            grouped.setdefault(match.path, []).append(match)
        return grouped


async def search(
    query: TextQuery, workspace: Workspace, place: Path | None, limit: int, environ: Mapping[str, str]
) -> SearchResult:
    """Search one path, or all folders of a session."""
    findings = SearchResult()
    for root in workspace.roots if place is None else (place,):
        if not findings.cut and not await _search_one(query, root, limit, environ, findings):
            raise InvalidInput(f"The search in {root} failed.")
    return findings


async def _search_one(
    query: TextQuery, place: Path, limit: int, environ: Mapping[str, str], findings: SearchResult
) -> bool:
    for command in _commands(query, place):
        try:
            if await _collect(command, _folder(place), environ, findings, limit):
                return True
        except CannotRun:
            continue
    return False


def _commands(query: TextQuery, place: Path) -> Iterator[tuple[str, ...]]:
    case = ("--ignore-case",) if query.ignore_case else ()
    word = ("--word-regexp",) if query.whole_word else ()
    name = "." if place.is_dir() else place.name
    rg_kind = () if query.is_regex else ("--fixed-strings",)
    yield (
        *(
            "rg",
            "--no-config",
            "--null",
            "--with-filename",
            "--line-number",
            "--no-heading",
            "--color=never",
            "--sort=path",
        ),
        *(*rg_kind, *case, *word, "-e", query.text, "--", name),
    )
    git_kind = "--perl-regexp" if query.is_regex else "--fixed-strings"
    yield (
        *(
            "git",
            "--literal-pathspecs",
            *safe_git_options(),
            "grep",
            "--untracked",
            "--no-recurse-submodules",
        ),
        *("--no-color", "-n", "-z", "-I", git_kind, *case, *word, "-e", query.text, "--", name),
    )
    # -P: do not import from the folder that is searched.
    yield (sys.executable, "-P", "-m", "portico.porter.search.grep", query.as_python(), str(place))


async def _collect(
    command: tuple[str, ...], folder: Path, environ: Mapping[str, str], findings: SearchResult, limit: int
) -> bool:
    """Run one program and collect its matches. Returns false if it cannot do this search."""
    group = await spawn(command, cwd=folder, environ=safe_git_environ(environ), merged=True)
    splitter = LineSplitter(_LONGEST_LINE)
    before = len(findings.matches)
    try:
        while data := await group.stdout.read(READ_SIZE):
            for line in splitter.feed(data):
                # Only the beginning of a very long line is kept.
                match = _match(line if isinstance(line, bytes) else line.head, folder)
                if match is None:
                    continue
                if len(findings.matches) >= limit:
                    findings.cut = True
                    return True
                findings.matches.append(match)
        await group.wait()
    finally:
        await group.stop(0)
    return group.exit_code in (_FOUND, _NOT_FOUND) or len(findings.matches) > before


def _match(line: bytes, folder: Path) -> TextMatch | None:
    record = _RECORD.fullmatch(line)
    if record is None:
        return None
    path = Path(os.path.normpath(folder / os.fsdecode(record[1])))
    return (
        None
        if is_private(path.parts)
        else TextMatch(path, int(record[2]), record[3].decode(errors="replace").rstrip())
    )


def _folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent
