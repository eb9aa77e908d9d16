"""Problems that a proposal adds and removes, before it is applied: in its files, and in files that use what it changes.

A language server checks each file twice: as the person has it, and as it is in the session's working copy. The list
of an attached window counts as well: what it shows already is not new, and what is solved is reported in its words.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path, PurePath

import msgspec

from portico.domain.errors import LanguageServerFailed, PorticoError
from portico.domain.problems import FileProblems, Problem
from portico.domain.reviews import ProposedFile
from portico.domain.session_summary import SessionSummary
from portico.domain.windows import CodeLocation, CodeLookup
from portico.sessions.code_servers import CodeServers, CodeTree
from portico.sessions.code_tree import open_code_tree
from portico.sessions.content.problem_changes import problems_beyond
from portico.sessions.ports import Ports
from portico.sessions.review_actions import ReviewActions

_MOST_FILES = 50
SECONDS = 90.0
_NO_COPY = "Problems are known before an apply only in the review modes proposal and worktree."
_NO_SERVER = "No language server is installed for this folder. See which can be: portico code servers list"
_LATE = "Some files could not be checked in time."
_MOST_AFFECTED = 20
_MOST_SYMBOLS = 30


class ProposalProblems(msgspec.Struct, frozen=True, kw_only=True):
    """`files` has those that were checked, with or without a difference. `note` says why others were not."""

    revision: int
    files: tuple[FileProblems, ...] = ()
    note: str = ""


async def compare_problems(
    session: SessionSummary, proposal_id: str, reviews: ReviewActions, ports: Ports
) -> ProposalProblems:
    """Check the files of a proposal. Language servers are started for it."""
    proposal = await reviews.proposal(session.session_id, proposal_id)
    folder = (await reviews.status(session.session_id)).folder
    if folder is None:
        return ProposalProblems(revision=proposal.revision, note=_NO_COPY)
    workspace = Path(session.workspace)
    servers = None if ports.code_servers is None else await ports.code_servers(workspace)
    if servers is None:
        return ProposalProblems(revision=proposal.revision, note=_NO_SERVER)
    before, after = (
        open_code_tree(ports, session.session_id, workspace, place) for place in (None, Path(folder))
    )
    check = _Check(servers, before, after, _shown_problems(workspace, ports))
    try:
        async with asyncio.timeout(SECONDS):
            for file in proposal.files[:_MOST_FILES]:
                await check.add(file)
            await check.add_affected(proposal.files[:_MOST_FILES])
    except TimeoutError:
        check.note = _LATE
    return ProposalProblems(revision=proposal.revision, files=tuple(check.files), note=check.note)


def _shown_problems(workspace: Path, ports: Ports) -> Callable[[str], Sequence[Problem]]:
    """The problems of a file that an attached window shows."""
    reports = ports.problems
    if reports is None or not reports.covers(workspace):
        return lambda _: ()
    return partial(reports.known, workspace)


class _Check:
    """Checks files in two trees, one after another."""

    def __init__(
        self,
        servers: CodeServers,
        before: CodeTree,
        after: CodeTree,
        shown: Callable[[str], Sequence[Problem]],
    ) -> None:
        self.files: list[FileProblems] = []
        self.note = ""
        self._servers = servers
        self._before = before
        self._after = after
        self._shown = shown

    async def add(self, file: ProposedFile) -> None:
        if file.binary:
            return
        try:
            exists = file.operation != "create"
            old = await self._problems(self._before, file.old_path or file.path) if exists else ()
            stays = file.operation != "delete"
            new = await self._problems(self._after, file.path) if stays else ()
        except PorticoError as error:
            self.note = self.note or error.message
            return
        self._keep(file.path, old, new)

    async def add_affected(self, proposed: Sequence[ProposedFile]) -> None:
        checked = {file.path for file in self.files}
        try:
            affected = await _find_affected_files(
                self._servers, self._before, [file for file in proposed if file.path in checked]
            )
            for path in affected:
                old, new = [await self._problems(tree, path) for tree in (self._before, self._after)]
                self._keep(path, old, new)
        except PorticoError as error:
            self.note = self.note or error.message

    def _keep(self, path: str, old: Sequence[Problem], new: Sequence[Problem]) -> None:
        shown = {_words(one): one for one in self._shown(path)}
        added = [one for one in problems_beyond(new, old) if _words(one) not in shown]
        removed = [shown.get(_words(one), one) for one in problems_beyond(old, new)]
        self.files.append(FileProblems(path=path, added=tuple(added), removed=tuple(removed)))

    async def _problems(self, tree: CodeTree, path: str) -> Sequence[Problem]:
        place = str(tree.folder / path)
        found = await self._servers.look_up(tree, CodeLookup(kind="diagnostics", path=place))
        if found.note.startswith("Not known yet"):
            raise LanguageServerFailed(found.note)
        return [
            Problem(line=one.line + 1, severity=one.severity, message=one.message, source=one.source)
            for one in found.problems
        ]


async def _find_affected_files(
    servers: CodeServers, tree: CodeTree, proposed: Sequence[ProposedFile]
) -> list[str]:
    """Paths within the tree as it is before the change. LanguageServerFailed if a server cannot tell."""
    changed = {name for file in proposed for name in (file.path, file.old_path)}
    found: dict[str, None] = {}
    asked = 0
    for file in proposed:
        if file.binary or file.operation == "create":
            continue
        path = str(tree.folder / (file.old_path or file.path))
        symbols = (await servers.look_up(tree, CodeLookup(kind="symbols", path=path))).places
        for symbol in _changed_symbols(symbols, file):
            if asked == _MOST_SYMBOLS or len(found) >= _MOST_AFFECTED:
                return list(found)[:_MOST_AFFECTED]
            asked += 1
            lookup = CodeLookup(kind="references", path=path, line=symbol.line, column=symbol.column)
            uses = (await servers.look_up(tree, lookup)).places
            names = (_name_in(tree.folder, use.path) for use in uses)
            found |= {name: None for name in names if name is not None and name not in changed}
    return list(found)[:_MOST_AFFECTED]


def _changed_symbols(symbols: Sequence[CodeLocation], file: ProposedFile) -> Iterable[CodeLocation]:
    """Names defined on changed lines or around them; all names of a deleted file."""
    if file.operation == "delete":
        return symbols
    lines = [(hunk.old_start - 1, hunk.old_start - 1 + hunk.old_lines) for hunk in file.hunks]
    kept = {one.name: one for one in symbols if any(first <= one.line < end for first, end in lines)}
    for first, _ in lines:
        before = [one for one in symbols if one.line <= first]
        names = {before[-1].name, before[-1].name.rpartition(".")[0]} if before else set()
        kept |= {one.name: one for one in before if one.name in names}
    return kept.values()


def _name_in(folder: Path, path: str) -> str | None:
    place = PurePath(path)
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else None


def _words(problem: Problem) -> tuple[str, str]:
    """A problem as a window and a language server tell it alike: without its source, and without a code at the end."""
    return problem.severity, re.sub(r" \([\w-]+\)$", "", problem.message)
