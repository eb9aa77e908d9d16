"""The tool calls of one turn: which are open, since when, and which terminal belongs to which.

Output of a terminal that no tool call shows yet is kept until one does: a command may print more than
anybody wants to read before the agent has said what it is.
"""

from collections.abc import Iterator

import msgspec

from portico.acp import _schema as acp
from portico.domain.events import AnyPayload, ToolUpdated
from portico.domain.values import TerminalOutput
from portico.sessions import translate
from portico.sessions.growth import growth
from portico.sessions.ports import Clock

MAX_TERMINAL_CHARACTERS = 1_000_000
_Call = acp.ToolCall | acp.ToolCallUpdate
_ABOUT = ("title", "name", "kind", "content", "locations", "raw_input")


class ToolLedger:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started: dict[str, float] = {}
        self._open: dict[str, _Call] = {}
        self._tool_of: dict[str, str] = {}
        self._heard: dict[str, int] = {}
        self._unclaimed: dict[str, list[TerminalOutput]] = {}
        self.count = 0

    def take(self, call: acp.ToolCall | acp.ToolCallProgress) -> Iterator[AnyPayload]:
        """The events that a tool message makes."""
        known = call.tool_call_id in self._started
        if not known:
            self._started[call.tool_call_id] = self._clock.monotonic()
            self.count += 1
        finished = call.status in ("completed", "failed")
        earlier = self._open.pop(call.tool_call_id, None)
        if not finished:
            self._open[call.tool_call_id] = call if earlier is None else _completed(call, earlier)
        if not known:
            yield translate.tool_started(call)
        elif not finished:
            yield _told_once(translate.tool_updated(call), earlier)
        yield from self._claim(call)
        if finished:
            elapsed = self._clock.monotonic() - self._started[call.tool_call_id]
            yield translate.tool_completed(
                call, duration_ms=round(elapsed * 1000), success=call.status == "completed"
            )

    def complete(self, call: _Call) -> _Call:
        """The call with what was said of it before, wherever it leaves something out."""
        earlier = self._open.get(call.tool_call_id)
        return call if earlier is None else _completed(call, earlier)

    def hear(self, output: TerminalOutput) -> Iterator[ToolUpdated]:
        """The event that a terminal's output makes, now or once a tool call shows the terminal."""
        bounded = self._bounded(output)
        if bounded is not None:
            yield from self._show(bounded)

    def _bounded(self, output: TerminalOutput) -> TerminalOutput | None:
        """The output as far as it is kept; a command that floods ends with how much was left out."""
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

    def leftovers(self) -> Iterator[ToolUpdated]:
        """What terminals printed that no tool call ever showed: told under their own names, not lost."""
        for terminal_id in list(self._unclaimed):
            self._tool_of[terminal_id] = terminal_id
            yield from self._hand_over(terminal_id)

    def _claim(self, call: acp.ToolCall | acp.ToolCallProgress) -> Iterator[ToolUpdated]:
        for part in call.content or ():
            if isinstance(part, acp.Terminal) and part.terminal_id not in self._tool_of:
                self._tool_of[part.terminal_id] = call.tool_call_id
                yield from self._hand_over(part.terminal_id)

    def _hand_over(self, terminal_id: str) -> Iterator[ToolUpdated]:
        for output in self._unclaimed.pop(terminal_id, ()):
            yield ToolUpdated(tool_id=self._tool_of[terminal_id], terminal=output)


def _completed(call: _Call, earlier: _Call) -> _Call:
    known = {name: getattr(earlier, name) for name in _ABOUT if getattr(call, name) is None}
    return msgspec.structs.replace(call, **known)


def _told_once(update: ToolUpdated, earlier: _Call | None) -> ToolUpdated:
    """The same without the content that was told before, if there is only more of it."""
    if update.content is None or earlier is None or earlier.content is None:
        return update
    grown = growth(translate.tool_parts(earlier.content), update.content)
    return update if grown is None else msgspec.structs.replace(update, content=None, grown=grown)
