"""Problems that tool calls added to files and removed from them, by language servers.

For sessions whose files no attached window reports on. A server checks each file that a finished call has changed:
with the text before the call, which is found by undoing the diffs that the call shows, and as it is now. This runs
beside the turn, one file after another, and questions of agents go first.
"""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path, PurePath

import msgspec

from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.ids import TurnId
from portico.domain.problems import FileProblems, Problem
from portico.domain.values import DiffPart
from portico.domain.windows import CodeLookup, CodeProblem
from portico.processes.tasks import cancel_and_wait
from portico.sessions.code_servers import CodeServers, CodeTree
from portico.sessions.content.problem_changes import RecordInTurn, problems_beyond

CHECK_SECONDS = 60.0
"""Time for the check of one file; most of it is for a server that starts."""
MOST_WAITING = 50

OpenCode = Callable[[], Awaitable[tuple[CodeServers, CodeTree] | None]]
"""The language servers and the tree of the session; None if there are none, or a window reports on the tree."""


class _Call(msgspec.Struct):
    tool_id: str
    turn_id: TurnId | None
    diffs: tuple[DiffPart, ...] = ()
    found: dict[str, FileProblems] = {}


class EditChecks:
    """Checks the edits of one session. Its owner must close it."""

    def __init__(self, open_code: OpenCode, record: RecordInTurn) -> None:
        self._open_code = open_code
        self._record = record
        self._calls: dict[str, _Call] = {}
        self._waiting: deque[tuple[_Call, str]] = deque(maxlen=MOST_WAITING)
        self._worker: asyncio.Task[None] | None = None

    def note(self, payload: AnyPayload, turn_id: TurnId | None) -> None:
        """Take in an event of a tool call; one that has succeeded is checked soon."""
        if not isinstance(payload, ToolStarted | ToolUpdated | ToolCompleted):
            return
        diffs = tuple(part for part in payload.content or () if isinstance(part, DiffPart))
        call = self._calls.get(payload.tool_id)
        if call is None:
            call = _Call(payload.tool_id, turn_id)
            self._calls[payload.tool_id] = call
        call.diffs = diffs or call.diffs
        if isinstance(payload, ToolCompleted):
            del self._calls[payload.tool_id]
            if payload.success and call.diffs:
                self._waiting.extend((call, path) for path in dict.fromkeys(one.path for one in call.diffs))
                self._work()

    def begin_turn(self) -> None:
        """Forget calls of earlier turns that have not ended. Those that have are still checked."""
        self._calls.clear()

    async def settled(self) -> None:
        """Wait until everything that was noted is checked."""
        if self._worker is not None:
            await asyncio.wait({self._worker})

    async def close(self) -> None:
        self._waiting.clear()
        if self._worker is not None:
            await cancel_and_wait(self._worker)

    def _work(self) -> None:
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._check_waiting(), name="checks of edits")

    async def _check_waiting(self) -> None:
        while self._waiting:
            call, path = self._waiting.popleft()
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    opened = await self._open_code()
                    found = None if opened is None else await _compare(*opened, path, call.diffs)
            except (PorticoError, TimeoutError):
                # A server that is missing or slow: the card stays as it is.
                continue
            if found is not None and (found.added or found.removed):
                call.found[path] = found
                self._record(
                    ToolUpdated(tool_id=call.tool_id, problems=tuple(call.found.values())), call.turn_id
                )


async def _compare(
    servers: CodeServers, tree: CodeTree, path: str, diffs: Sequence[DiffPart]
) -> FileProblems | None:
    """The difference that a call made to a file; None if the text before it is not known."""
    name = _name_in(tree.workspace, path)
    if name is None:
        return None
    own = str(tree.folder / name)
    text = await tree.read(own)
    mine = [one for one in diffs if one.path == path]
    before = undo_diffs(text, mine)
    if before is None:
        return None
    is_new = mine[0].old_text is None
    old = () if is_new else _problems(await servers.problems_with(tree, own, before))
    now = await servers.look_up(tree, CodeLookup(kind="diagnostics", path=own))
    if now.note or await tree.read(own) != text:
        return None
    new = _problems(now.problems)
    return FileProblems(
        path=str(tree.workspace / name), added=problems_beyond(new, old), removed=problems_beyond(old, new)
    )


def _name_in(workspace: Path, path: str) -> PurePath | None:
    place = PurePath(os.path.normpath(workspace / path))
    return place.relative_to(workspace) if place.is_relative_to(workspace) else None


def undo_diffs(text: str, diffs: Sequence[DiffPart]) -> str | None:
    """The text of a file before its changes; None if they are not found in it exactly once.

    A diff may have the whole file or only the lines that changed.
    """
    for diff in reversed(diffs):
        if diff.new_text == text:
            text = diff.old_text or ""
        elif diff.new_text and text.count(diff.new_text) == 1:
            text = text.replace(diff.new_text, diff.old_text or "")
        else:
            return None
    return text


def _problems(found: Sequence[CodeProblem]) -> tuple[Problem, ...]:
    return tuple(
        Problem(line=one.line + 1, severity=one.severity, message=one.message, source=one.source)
        for one in found
    )
