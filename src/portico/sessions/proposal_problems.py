"""Problems that a proposal adds and removes, before it is applied: in its files, and in files that use what it changes.

A language server checks each file twice: as the person has it, and as it is in the session's working copy. The list
of an attached window counts as well: what it shows already is not new, and what is solved is told in its words.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from portico.domain.errors import LanguageServerFailed, PorticoError
from portico.domain.problems import FileProblems, Problem
from portico.domain.reviews import ProposedFile
from portico.domain.session_summary import SessionSummary
from portico.domain.windows import CodeLookup
from portico.sessions.affected_files import find_affected_files
from portico.sessions.code_servers import CodeServers, CodeTree
from portico.sessions.code_tree import open_code_tree
from portico.sessions.content.problem_changes import problems_beyond
from portico.sessions.ports import Ports
from portico.sessions.review_actions import ReviewActions

MOST_FILES = 50
SECONDS = 90.0
_NO_COPY = "Problems are known before an apply only in the review modes proposal and worktree."
_NO_SERVER = "No language server is installed for this folder. See which can be: portico code servers list"
_LATE = "Some files could not be checked in time."


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
            for file in proposal.files[:MOST_FILES]:
                await check.add(file)
            await check.add_affected(proposal.files[:MOST_FILES])
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
            affected = await find_affected_files(
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


def _words(problem: Problem) -> tuple[str, str]:
    """A problem as a window and a language server tell it alike: without its source, and without a code at the end."""
    return problem.severity, re.sub(r" \([\w-]+\)$", "", problem.message)
