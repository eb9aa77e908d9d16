"""Tool calls of one turn: which are open, since when, and their terminals.

Output of a terminal is kept until a tool call shows the terminal.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.command_line import command_line_of
from portico.domain.events import AnyPayload, ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.values import (
    DiffPart,
    Location,
    TerminalOutput,
    TerminalPart,
    TextGrowth,
    TextPart,
    ToolPart,
)
from portico.sessions.content import translation
from portico.sessions.ports import Clock

MAX_TERMINAL_CHARACTERS = 1_000_000
MAX_WRITTEN_CHARACTERS = 256 * 1024
_AnyCall = TypeVar("_AnyCall", acp.ToolCall | acp.ToolCallProgress, acp.ToolCall | acp.ToolCallUpdate)
_Call = acp.ToolCall | acp.ToolCallUpdate
_ABOUT = ("title", "name", "kind", "content", "locations", "raw_input")


_WORTHWHILE = 256
"""Smallest number of repeated characters that is worth a delta."""
_DROPPED = 64
"""Largest number of characters at the end that may be replaced, such as a closing fence."""


class _CommandCard(msgspec.Struct):
    """A tool call made for a command that the agent did not announce."""

    line: str
    ended: TerminalOutput | None = None
    is_claimed: bool = False
    """Whether the agent has announced it since, and so ends it."""


class TurnToolCalls:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started: dict[str, float] = {}
        self._open: dict[str, _Call] = {}
        self._tool_of: dict[str, str] = {}
        self._heard: dict[str, int] = {}
        self._unclaimed: dict[str, list[TerminalOutput]] = {}
        self._made: dict[str, _CommandCard] = {}
        self._card_of: dict[str, str] = {}
        self.count = 0

    def take(self, call: acp.ToolCall | acp.ToolCallProgress) -> Iterator[AnyPayload]:
        """The events of a tool call update."""
        call = self._under_card_id(call)
        known = call.tool_call_id in self._started
        if not known:
            self._started[call.tool_call_id] = self._clock.monotonic()
            self.count += 1
        finished = call.status in ("completed", "failed")
        earlier = self._open.pop(call.tool_call_id, None)
        if not finished:
            self._open[call.tool_call_id] = call if earlier is None else _completed(call, earlier)
        if not known:
            yield translation.tool_started(call)
        elif not finished:
            yield _without_repeated_content(translation.tool_updated(call), earlier)
        yield from self._claim(call)
        if finished:
            elapsed = self._clock.monotonic() - self._started[call.tool_call_id]
            yield translation.tool_completed(
                call, duration_ms=round(elapsed * 1000), success=call.status == "completed"
            )

    def complete(self, call: _Call) -> _Call:
        """The call, completed with earlier updates."""
        call = self._under_card_id(call)
        earlier = self._open.get(call.tool_call_id)
        return call if earlier is None else _completed(call, earlier)

    def restart_clock(self, tool_id: str) -> None:
        """Measure an open tool call from now on: until now a person was asked about it."""
        if tool_id in self._open:
            self._started[tool_id] = self._clock.monotonic()

    def ran(self, terminal_id: str, line: str, raw_input: Raw) -> Iterator[AnyPayload]:
        """The events of a command that the agent runs, on its tool call or on one made for it."""
        owner = self._owner_of(line)
        if owner is None:
            self._made[terminal_id] = _CommandCard(line)
            self._begin(terminal_id)
            yield ToolStarted(
                tool_id=terminal_id,
                title=line,
                tool_kind="execute",
                status="in_progress",
                content=(TerminalPart(terminal_id=terminal_id),),
                input=raw_input,
            )
        self._tool_of[terminal_id] = terminal_id if owner is None else owner.tool_call_id
        if owner is not None and not _names(owner, line):
            words = TerminalOutput(terminal_id=terminal_id, text=f"$ {line}\n")
            yield ToolUpdated(tool_id=owner.tool_call_id, terminal=words)
        yield from self._hand_over(terminal_id)

    def settled(self, terminal_id: str) -> Iterator[ToolCompleted]:
        """The end of a tool call made for a command, unless the agent's own tool call has taken it over."""
        card = self._made.get(terminal_id)
        if card is not None and card.ended is not None and not card.is_claimed:
            del self._made[terminal_id]
            yield self._completed(terminal_id, success=card.ended.exit_code == 0)

    def named_paths(self) -> Iterator[str]:
        """The files that open tool calls name."""
        for call in self._open.values():
            yield from (place.path for place in call.locations or ())
            yield from (part.path for part in call.content or () if isinstance(part, acp.Diff))
            yield from _texts(call.raw_input)

    def wrote(self, path: str, old: str | None, new: str) -> Iterator[AnyPayload]:
        """The events of a file write that no tool call names; long texts are left out."""
        if len(new) + len(old or "") > MAX_WRITTEN_CHARACTERS:
            old, new = None, f"({len(new):,} characters)"
        tool_id = f"write-{self.count + 1}-{path}"
        self._begin(tool_id)
        yield ToolStarted(
            tool_id=tool_id,
            title=f"Write {path}",
            tool_kind="edit",
            status="in_progress",
            content=(DiffPart(path=path, old_text=old, new_text=new),),
            locations=(Location(path=path),),
        )
        yield self._completed(tool_id, success=True)

    def hear(self, output: TerminalOutput) -> Iterator[ToolUpdated]:
        """The events of terminal output, if a tool call shows the terminal; else it is kept."""
        if output.ended and output.terminal_id in self._made:
            self._made[output.terminal_id].ended = output
        bounded = self._bounded(output)
        if bounded is not None:
            yield from self._show(bounded)

    def _bounded(self, output: TerminalOutput) -> TerminalOutput | None:
        """The output within its limit; the end says how much was left out."""
        heard = self._heard.get(output.terminal_id, 0)
        self._heard[output.terminal_id] = heard + len(output.text)
        room = max(MAX_TERMINAL_CHARACTERS - heard, 0)
        if output.ended:
            beyond = max(heard + len(output.text) - MAX_TERMINAL_CHARACTERS, 0)
            return msgspec.structs.replace(output, text=output.text[:room], left_out=beyond)
        return msgspec.structs.replace(output, text=output.text[:room]) if room else None

    def _show(self, output: TerminalOutput) -> Iterator[ToolUpdated]:
        tool_id = self._tool_of.get(output.terminal_id)
        if tool_id is not None:
            yield ToolUpdated(tool_id=tool_id, terminal=output)
            return
        self._unclaimed.setdefault(output.terminal_id, []).append(output)

    def leftovers(self) -> Iterator[ToolUpdated | ToolCompleted]:
        """Events at the end of a turn: output of terminals that no tool call showed, and ends of open tool calls."""
        for terminal_id in list(self._unclaimed):
            self._tool_of[terminal_id] = terminal_id
            yield from self._hand_over(terminal_id)
        for terminal_id in list(self._made):
            yield from self.settled(terminal_id)

    def _begin(self, tool_id: str) -> None:
        self._started[tool_id] = self._clock.monotonic()
        self.count += 1

    def _completed(self, tool_id: str, *, success: bool) -> ToolCompleted:
        elapsed = self._clock.monotonic() - self._started[tool_id]
        return ToolCompleted(tool_id=tool_id, success=success, duration_ms=round(elapsed * 1000))

    def _owner_of(self, line: str) -> _Call | None:
        """The open tool call of a command: one that names it, else the only one of kind execute."""
        for call in self._open.values():
            if _names(call, line):
                return call
        shown = set(self._tool_of.values())
        running = [call for call in self._open.values() if call.kind == "execute"]
        waiting = [call for call in running if call.tool_call_id not in shown]
        return waiting[0] if len(waiting) == 1 else None

    def _under_card_id(self, call: _AnyCall) -> _AnyCall:
        """The call with the id of the one made for its command, if the agent announces the command only now."""
        agents_id = call.tool_call_id
        if agents_id not in self._started and agents_id not in self._card_of:
            shown = {part.terminal_id for part in call.content or () if isinstance(part, acp.Terminal)}
            for terminal_id, card in self._made.items():
                if not card.is_claimed and (terminal_id in shown or _names(call, card.line)):
                    card.is_claimed = True
                    self._card_of[agents_id] = terminal_id
                    break
        card_id = self._card_of.get(agents_id)
        return call if card_id is None else msgspec.structs.replace(call, tool_call_id=card_id)

    def _claim(self, call: acp.ToolCall | acp.ToolCallProgress) -> Iterator[ToolUpdated]:
        for part in call.content or ():
            if isinstance(part, acp.Terminal) and part.terminal_id not in self._tool_of:
                self._tool_of[part.terminal_id] = call.tool_call_id
                yield from self._hand_over(part.terminal_id)

    def _hand_over(self, terminal_id: str) -> Iterator[ToolUpdated]:
        for output in self._unclaimed.pop(terminal_id, ()):
            yield ToolUpdated(tool_id=self._tool_of[terminal_id], terminal=output)


def _names(call: _Call, line: str) -> bool:
    """Whether a tool call names this command."""
    return line == (call.title or "").strip().strip("`") or any(
        line == text for text in _texts(call.raw_input)
    )


def _texts(value: Any) -> Iterator[str]:
    """Every string in an input, and lists of strings joined as a command line."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        words = [value.get("command"), *(args if isinstance(args := value.get("args"), list) else ())]
        if all(isinstance(word, str) for word in words):
            yield command_line_of(words)
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        if value and all(isinstance(word, str) for word in value):
            yield command_line_of(value)
        for part in value:
            yield from _texts(part)


def _completed(call: _Call, earlier: _Call) -> _Call:
    known = {name: getattr(earlier, name) for name in _ABOUT if getattr(call, name) is None}
    return msgspec.structs.replace(call, **known)


def _without_repeated_content(update: ToolUpdated, earlier: _Call | None) -> ToolUpdated:
    """The update as a delta, if content was only appended."""
    if update.content is None or earlier is None or earlier.content is None:
        return update
    grown = output_delta(translation.tool_parts(earlier.content), update.content)
    return update if grown is None else msgspec.structs.replace(update, content=None, grown=grown)


def output_delta(before: tuple[ToolPart, ...], now: tuple[ToolPart, ...]) -> TextGrowth | None:
    """The text appended to the last text; None if the content changed in another way, or is short."""
    match before, now:
        case (*others, TextPart(text=old)), (*same, TextPart(text=new)) if others == same:
            return _continued(old, new)
        case _:
            return None


def _continued(old: str, new: str) -> TextGrowth | None:
    kept = len(old) if new.startswith(old) else _kept(old, new)
    taken_off = old[kept:]
    if kept < _WORTHWHILE or any(letter > "\uffff" for letter in taken_off):
        return None
    return TextGrowth(text=new[kept:], dropped=len(taken_off))


def _kept(old: str, new: str) -> int:
    """Length of the common prefix, if it is all but the last few characters; zero otherwise."""
    kept = max(len(old) - _DROPPED, 0)
    if not new.startswith(old[:kept]):
        return 0
    while kept < min(len(old), len(new)) and old[kept] == new[kept]:
        kept += 1
    return kept
