"""Export of a session as JSON with every event, or as Markdown.

Both are made page by page, so that memory does not grow with the session.
"""

from collections.abc import AsyncIterator, Iterator

import msgspec
from msgspec import Raw

from portico.domain.content_blocks import describe_block
from portico.domain.events import (
    AnyPayload,
    ErrorReported,
    Notice,
    PermissionResolved,
    PlanUpdated,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    Thinking,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from portico.domain.session_summary import SessionSummary
from portico.domain.timestamps import format_time
from portico.domain.turns import TurnState
from portico.domain.values import DiffPart, TerminalOutput, TextGrowth, TextPart, ToolPart
from portico.sessions.log.watch import read_all
from portico.sessions.ports import Store


class ExportedEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    seq: int
    turn_id: str | None
    timestamp: str
    type: str
    payload: AnyPayload


async def export_json(store: Store, summary: SessionSummary) -> AsyncIterator[str]:
    """One JSON object: the session's summary and all its events."""
    head = msgspec.json.encode(
        {
            "portico": 1,
            "sessionId": summary.session_id,
            "workspace": summary.workspace,
            "agent": summary.agent,
            "title": summary.title,
            "state": summary.state.value,
            "createdAt": format_time(summary.created_at),
            "updatedAt": format_time(summary.updated_at),
        }
    ).decode()
    yield head[:-1] + ',"events":['
    separator = "\n"
    async for event in read_all(store, summary.session_id):
        exported = ExportedEvent(
            seq=event.seq,
            turn_id=event.turn_id,
            timestamp=event.timestamp,
            type=event.kind,
            payload=event.payload,
        )
        yield separator + msgspec.json.encode(exported).decode()
        separator = ",\n"
    yield "\n]}\n"


async def export_markdown(store: Store, summary: SessionSummary) -> AsyncIterator[str]:
    """The conversation as Markdown: prompts, answers, tool calls and decisions."""
    yield f"# {summary.title or 'Session ' + summary.session_id}\n\n"
    yield f"{summary.agent} in `{summary.workspace}`, {format_time(summary.created_at)}\n"
    page = _MarkdownPage()
    async for event in read_all(store, summary.session_id):
        for piece in page.add(event.payload):
            yield piece
    yield "\n"


class _MarkdownPage:
    """Joins text deltas, and separates everything else by blank lines."""

    def __init__(self) -> None:
        self._running: type[AnyPayload] | None = None
        self._titles: dict[str, str] = {}
        self._contents: dict[str, tuple[ToolPart, ...]] = {}

    def add(self, payload: AnyPayload) -> Iterator[str]:
        match payload:
            case TextDelta(text="", block=Raw() as block):
                self._running = None
                yield f"\n\n{describe_block(block)}"
            case TextDelta(text=text):
                yield from self._run_on(payload, text, "\n\n")
            case Thinking(text=text):
                yield from self._run_on(payload, text.replace("\n", "\n> "), "\n\n> ")
            case _:
                lines = list(self._standing(payload))
                if lines:
                    self._running = None
                    yield "\n\n" + "\n".join(lines)

    def _run_on(self, payload: AnyPayload, text: str, opening: str) -> Iterator[str]:
        if self._running is not type(payload):
            self._running = type(payload)
            yield opening
        yield text

    def _standing(self, payload: AnyPayload) -> Iterator[str]:
        match payload:
            case PromptSubmitted() as prompt:
                yield from _prompt(prompt)
            case ToolStarted() | ToolUpdated() | ToolCompleted() as tool:
                yield from self._tool(tool)
            case PlanUpdated(entries=entries):
                for entry in entries:
                    yield f"- [{'x' if entry.status == 'completed' else ' '}] {entry.content}"
            case PermissionResolved() | QuestionAsked() | QuestionAnswered() as inquiry:
                yield from _inquiry(inquiry)
            case Notice() as notice:
                yield from _notice(notice)
            case ErrorReported(code=code, message=message):
                yield f"**{code.value}: {message}**"
            case TurnEnded(state=state):
                for content in self._contents.values():  # of tools that did not finish
                    yield from _parts(content)
                self._contents.clear()
                if state is not TurnState.COMPLETED:
                    yield f"_Turn {state.label}._"
            case _:
                return

    def _tool(self, payload: ToolStarted | ToolUpdated | ToolCompleted) -> Iterator[str]:
        """Output of a tool is written once, in its final state."""
        match payload:
            case ToolStarted(tool_id=tool_id, title=title, content=content):
                self._titles[tool_id] = title
                self._contents[tool_id] = content
                yield f"- **{title}**"
            case ToolUpdated(terminal=TerminalOutput(text=text)) if text:
                yield from _fenced(text, "")
            case ToolUpdated(tool_id=tool_id, grown=TextGrowth() as grown):
                self._contents[tool_id] = grown.of(self._contents.get(tool_id, ()))
            case ToolUpdated(tool_id=tool_id, content=content) if content is not None:
                self._contents[tool_id] = content
            case ToolCompleted(tool_id=tool_id, success=success, content=content, title=title):
                name = title or self._titles.get(tool_id, tool_id)
                latest = self._contents.pop(tool_id, ())
                yield f"- {name}: {'done' if success else 'failed'}"
                yield from _parts(latest if content is None else content)
            case ToolUpdated():
                return


def _prompt(prompt: PromptSubmitted) -> Iterator[str]:
    yield "## You"
    yield ""
    yield prompt.text
    yield ""
    for block in prompt.blocks:
        yield f"- {describe_block(block)}"
    if prompt.blocks:
        yield ""
    yield "## Agent"


def _notice(notice: Notice) -> Iterator[str]:
    yield f"_{notice.level.capitalize()}: {notice.text}_"
    if notice.details:
        yield ""
        yield from (f"> {line}".rstrip() for line in notice.details.splitlines())


_DECIDERS = {
    "person": "by the person",
    "policy": "by a rule",
    "nobody": "because no one could be asked",
}


def _inquiry(inquiry: PermissionResolved | QuestionAsked | QuestionAnswered) -> Iterator[str]:
    match inquiry:
        case PermissionResolved(outcome=outcome, by=by, person=person):
            yield f"_Permission {outcome} {f'by {person}' if person else _DECIDERS[by]}._"
        case QuestionAsked(message=message, url=url):
            yield f"**{message}**" + (f" {url}" if url else "")
        case QuestionAnswered(action="accept"):
            yield from _answers(inquiry)
        case QuestionAnswered(action=action, by=by, person=person):
            yield f"_The question was {'declined' if action == 'decline' else 'canceled'} {f'by {person}' if person else _DECIDERS[by]}._"


def _answers(answered: QuestionAnswered) -> Iterator[str]:
    for name, value in answered.content.items():
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield f"- {name}: {shown}"
    for name in answered.withheld:
        yield f"- {name}: _not kept_"
    if not answered.content and not answered.withheld:
        yield "_Accepted._"


def _parts(parts: tuple[ToolPart, ...]) -> Iterator[str]:
    for part in parts:
        match part:
            case TextPart(text=text):
                yield from _fenced(text, "")
            case DiffPart(path=path, new_text=new_text):
                yield f"  `{path}`"
                yield from _fenced(new_text, "")
            case _:
                continue


def _fenced(text: str, language: str) -> Iterator[str]:
    """A fenced code block, with a fence longer than any in the text."""
    longest = max((len(run) for run in text.split("\n") if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield text.rstrip("\n")
    yield fence
