"""Summary of a session for another agent that continues it, made from the log alone.

It has a bounded length, the same events give the same text, and what looks like a secret is hidden.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from portico.domain.events import (
    AnyPayload,
    Event,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PlanUpdated,
    PromptSubmitted,
    ProposalUpdated,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    TodosUpdated,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from portico.domain.notice_codes import CONTINUED_FROM, CONTINUED_WITH
from portico.domain.redaction import plain_line
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.domain.values import DiffPart, Location, PlanEntry, TodoItem, ToolKind, ToolPart
from portico.sessions.log.watch import read_all
from portico.sessions.ports import Store

MAX_CHARACTERS = 12_000
FIRST_DRAFT = "Continue with the open points."
"""Suggested first prompt for the next agent."""
FIRST_EVENTS = 3
"""Events at the start of a session among which its mark is."""

_GOAL, _ITEM, _ANSWER, _EARLIER = 2_000, 240, 1_500, 3_000
_FEW, _SOME = 12, 30
_OPENING = (
    "Another agent worked on this task before you. This summary was made from the log of that session. "
    "Continue from it: check the files before you rely on it, and do not repeat what is done."
)
_WRITES: dict[ReviewMode, str] = {
    "direct": "changes are written directly",
    "proposal": "changes wait for review as a proposal",
    "branch": "changes go to a branch of their own",
    "worktree": "changes go to a worktree of their own",
}


_CHANGES: dict[ToolKind, str] = {"edit": "edited", "delete": "deleted", "move": "moved"}


class _TouchedFiles:
    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._calls: dict[str, tuple[ToolKind, tuple[str, ...]]] = {}
        """Running calls: their kind and files."""
        self._files: dict[str, str] = {}

    def add(self, payload: ToolStarted | ToolUpdated | ToolCompleted) -> None:
        kind, paths = self._calls.pop(payload.tool_id, ("other", ()))
        kind = payload.tool_kind or kind
        paths = _paths(payload.content or (), payload.locations or ()) or paths
        if not isinstance(payload, ToolCompleted):
            self._calls[payload.tool_id] = (kind, paths)
        elif payload.success and kind in _CHANGES:
            for path in paths:
                self._files.pop(path, None)
                self._files[path] = _CHANGES[kind]

    def lines(self, limit: int) -> list[str]:
        """The files that were changed last, and how."""
        newest = list(self._files.items())[-limit:]
        more = len(self._files) - len(newest)
        return [
            *(f"{self._short(path)} ({change})" for path, change in newest),
            *([f"and {more} more"] if more else []),
        ]

    def _short(self, path: str) -> str:
        try:
            return str(PurePath(path).relative_to(self._workspace))
        except ValueError:
            return path


def continued_from(source: SessionSummary, mode: ReviewMode, summary: str) -> Notice:
    """The mark at the beginning of a session that continues another one."""
    writes = "it only reads" if source.reads_only else _WRITES[mode]
    return Notice(
        level="info",
        text=f"Continued from “{title_of(source)}” ({source.agent}). It works in the same folder; {writes}.",
        details=summary,
        code=CONTINUED_FROM,
        other_session_id=source.session_id,
    )


def continued_with(agent: str, session_id: str) -> Notice:
    """The mark at the end of a session that was handed to another agent."""
    return Notice(
        level="info", text=f"Continued with {agent}.", code=CONTINUED_WITH, other_session_id=session_id
    )


def title_of(source: SessionSummary) -> str:
    return plain_line(source.title, _ITEM) or source.session_id


def find_hand_off(first: Iterable[Event]) -> str | None:
    """The summary that a session began with, as its agent gets it; None if it continues no other."""
    for event in first:
        match event.payload:
            case Notice(code=code, source="portico", details=str() as summary) if code == CONTINUED_FROM:
                return f"<hand-off>\n{_OPENING}\n\n{summary}\n</hand-off>"
            case _:
                continue
    return None


async def summarize_session(store: Store, source: SessionSummary) -> str:
    """Summary of a session for another agent."""
    hand_off = HandOff(source)
    async for event in read_all(store, source.session_id):
        hand_off.add(event.payload)
    return hand_off.text()


class HandOff:
    """Collects, event by event, what another agent has to know."""

    def __init__(self, source: SessionSummary) -> None:
        self._source = source
        self._prompts: list[str] = []
        self._decisions: dict[str, int] = {}
        self._steps: tuple[PlanEntry, ...] = ()
        self._todos: tuple[TodoItem, ...] = ()
        self._asked: dict[str, str] = {}
        self._requested: dict[str, str] = {}
        self._files = _TouchedFiles(source.workspace)
        self._proposals: dict[str, ProposalUpdated] = {}
        self._answer = ""
        self._ended: TurnEnded | None = None
        self._earlier = ""

    def add(self, payload: AnyPayload) -> None:
        match payload:
            case PromptSubmitted(text=text):
                self._prompts.append(text)
                self._answer = ""
                self._asked, self._requested = {}, {}
            case TextDelta(text=text):
                self._answer = (self._answer + text)[-4 * _ANSWER :]
            case PlanUpdated(entries=entries):
                self._steps = entries
            case TodosUpdated(todos=todos):
                self._todos = todos
            case ToolStarted() | ToolUpdated() | ToolCompleted():
                self._files.add(payload)
            case TurnEnded():
                self._ended = payload
            case Notice(code=code, details=str() as details) if code == CONTINUED_FROM:
                self._earlier = details
            case _:
                self._add_decision(payload)

    def _add_decision(self, payload: AnyPayload) -> None:
        match payload:
            case PermissionRequested(request_id=request_id, title=title):
                self._requested[request_id] = title
            case PermissionResolved(request_id=request_id, outcome=outcome, by=by):
                if outcome == "canceled" or request_id not in self._requested:
                    return
                title = self._requested.pop(request_id)
                if by == "person" or outcome == "denied":
                    self._decide(f"{outcome.capitalize()}: {title}")
            case QuestionAsked(request_id=request_id, message=message):
                self._asked[request_id] = message
            case QuestionAnswered(request_id=request_id, action="accept"):
                answers = "; ".join(f"{name} = {value}" for name, value in payload.content.items())
                self._decide(f"Answered “{self._asked.pop(request_id, '')}” {answers}")
            case QuestionAnswered(request_id=request_id, action="decline", by="person"):
                self._decide(f"Declined to answer “{self._asked.pop(request_id, '')}”")
            case ProposalUpdated(proposal_id=proposal_id, status=status):
                self._proposals[proposal_id] = payload
                if status != "open":
                    self._decide(f"Proposal {status}: {_names(payload)}")
            case _:
                return

    def _decide(self, text: str) -> None:
        line = plain_line(text, _ITEM)
        self._decisions[line] = self._decisions.pop(line, 0) + 1

    def text(self) -> str:
        """The summary as Markdown."""
        source = self._source
        sections = [
            f"# {title_of(source)}\n\nAgent: {plain_line(source.agent, _ITEM)}. Folder: {source.workspace}",
            _section("Goal", self._goal()),
            _section("Decisions", _list(self._decision_lines())),
            _section("Open points", _list(self._open_points())),
            _section("Files changed", _list(self._files.lines(_SOME))),
            _section("Open proposals (not in the files yet)", _list(self._open_proposals())),
            _section("Last answer of the agent", _quote(self._answer[-_ANSWER:])),
        ]
        if self._earlier:
            sections.append(_section("Before that session", _quote(self._earlier[:_EARLIER])))
        whole = "\n\n".join(filter(None, sections))
        return whole if len(whole) <= MAX_CHARACTERS else f"{whole[: MAX_CHARACTERS - 1]}…"

    def _goal(self) -> str:
        if not self._prompts:
            return "Nothing was asked yet."
        first, *later = self._prompts
        lines = [_quote(first[:_GOAL])]
        if later:
            lines.append(f"\nAfter that the person asked:\n{_list(later[-_FEW:])}")
        return "\n".join(lines)

    def _decision_lines(self) -> list[str]:
        newest = list(self._decisions.items())[-_FEW:]
        return [line if count == 1 else f"{line} (×{count})" for line, count in newest]

    def _open_points(self) -> Iterator[str]:
        seen: set[str] = set()
        entries: tuple[PlanEntry | TodoItem, ...] = (*self._steps, *self._todos)
        for entry in entries:
            if entry.status != "completed" and entry.content not in seen:
                seen.add(entry.content)
                yield f"{'In progress' if entry.status == 'in_progress' else 'To do'}: {entry.content}"
        yield from (f"Unanswered question: {message}" for message in self._asked.values())
        yield from (f"Undecided request: {title}" for title in self._requested.values())
        if self._ended is not None and self._ended.state is not TurnState.COMPLETED:
            yield f"Last turn: {self._ended.state.label}."

    def _open_proposals(self) -> list[str]:
        return [
            f"{one.proposal_id}: {_names(one)}" for one in self._proposals.values() if one.status == "open"
        ]


def _names(proposal: ProposalUpdated) -> str:
    more = len(proposal.files) - _FEW + proposal.unlisted
    named = ", ".join(one.path for one in proposal.files[:_FEW])
    return f"{named} and {more} more" if more > 0 else named


def _section(title: str, body: str) -> str:
    return f"## {title}\n{body}" if body else ""


def _list(items: Iterable[str]) -> str:
    lines = [plain_line(item, _ITEM) for item in items]
    more = [f"and {len(lines) - _SOME} more"] if len(lines) > _SOME else []
    return "\n".join(f"- {line}" for line in (*lines[:_SOME], *more) if line)


def _quote(text: str) -> str:
    """Words of the person or the agent, line by line, so that none can pass for a heading of this summary."""
    lines = [plain_line(line, _GOAL) for line in text.strip().splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _paths(content: Sequence[ToolPart], locations: Sequence[Location]) -> tuple[str, ...]:
    """The files of the diffs of a call; without diffs, its places."""
    diffs = tuple(part.path for part in content if isinstance(part, DiffPart))
    return diffs or tuple(dict.fromkeys(place.path for place in locations))
