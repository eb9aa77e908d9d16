"""Problems that tool calls added to files and removed from them, by the lists that an editor reports.

An editor checks a file a moment after it was changed, so a list that arrives is attributed to the last tool call that
changed the file, also shortly after its turn. Lines move with every edit: problems are the same if severity, source
and message are.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath

import msgspec

from portico.domain.events import AnyPayload, ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.ids import TurnId
from portico.domain.problems import FileProblems, Problem
from portico.domain.values import DiffPart, ToolKind
from portico.sessions.ports import Clock, ProblemReports

SETTLE_SECONDS = 20.0
"""Time after the last sign of a tool call in which changes are attributed to it."""
MOST_FILES = 100
MOST_PROBLEMS = 50
_CHANGING: frozenset[ToolKind] = frozenset({"edit", "delete", "move"})

RecordInTurn = Callable[[AnyPayload, TurnId | None], None]


class _Call(msgspec.Struct):
    tool_id: str
    turn_id: TurnId | None
    kind: ToolKind
    last_sign: float
    before: dict[str, tuple[Problem, ...]] = {}
    """The problems of each file when the call first named it."""
    now: dict[str, tuple[Problem, ...]] = {}
    told: tuple[FileProblems, ...] = ()


class ProblemChanges:
    """Tracks the files of one session. Hears nothing before the first tool call that changes a file."""

    def __init__(
        self, workspace: Path, clock: Clock, reports: ProblemReports | None, record: RecordInTurn
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._reports = reports
        self._record = record
        self._calls: dict[str, _Call] = {}
        self._last_call: dict[str, _Call] = {}
        self._stop: Callable[[], None] | None = None

    def note(self, payload: AnyPayload, turn_id: TurnId | None) -> None:
        """Take in an event of a tool call of the running turn."""
        if self._reports is None or not isinstance(payload, ToolStarted | ToolUpdated | ToolCompleted):
            return
        call = self._calls.get(payload.tool_id)
        if call is None or call.turn_id != turn_id:
            call = _Call(payload.tool_id, turn_id, payload.tool_kind or "other", self._clock.monotonic())
            self._calls[payload.tool_id] = call
        call.kind = payload.tool_kind or call.kind
        call.last_sign = self._clock.monotonic()
        for path in _changed_paths(payload, call.kind):
            place = PurePath(os.path.normpath(self._workspace / path))
            if not place.is_relative_to(self._workspace):
                continue
            name = place.relative_to(self._workspace).as_posix()
            if name not in call.before and len(call.before) < MOST_FILES:
                call.before[name] = tuple(self._reports.known(self._workspace, name))
            self._last_call[name] = call
        if self._last_call and self._stop is None:
            self._stop = self._reports.listen(self._workspace, self._heard)

    def begin_turn(self) -> None:
        """Forget the calls of earlier turns."""
        self._calls.clear()
        self._last_call.clear()

    def close(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _heard(self, path: str, problems: Sequence[Problem]) -> None:
        call = self._last_call.get(path)
        if call is None or path not in call.before:
            return
        if self._clock.monotonic() - call.last_sign > SETTLE_SECONDS:
            return
        call.now[path] = tuple(problems)
        files = tuple(
            FileProblems(
                path=str(self._workspace / name),
                added=problems_beyond(now, call.before[name]),
                removed=problems_beyond(call.before[name], now),
            )
            for name, now in call.now.items()
        )
        changed = tuple(one for one in files if one.added or one.removed)
        if changed != call.told:
            call.told = changed
            self._record(ToolUpdated(tool_id=call.tool_id, problems=changed), call.turn_id)


def _changed_paths(payload: ToolStarted | ToolUpdated | ToolCompleted, kind: ToolKind) -> Iterable[str]:
    yield from (part.path for part in payload.content or () if isinstance(part, DiffPart))
    if kind in _CHANGING:
        yield from (place.path for place in payload.locations or ())


def problems_beyond(some: Sequence[Problem], others: Sequence[Problem]) -> tuple[Problem, ...]:
    """The problems of a list that another does not have, each as often as it has it more."""
    left = Counter(map(_identity, others))
    found = []
    for problem in some:
        if left[_identity(problem)] > 0:
            left[_identity(problem)] -= 1
        else:
            found.append(problem)
    return tuple(found[:MOST_PROBLEMS])


def _identity(problem: Problem) -> tuple[str, str, str]:
    return problem.severity, problem.source, problem.message
