"""A task that the model gives to a second loop: a memory of its own, no wider tools, and a report in the end."""

import asyncio
from collections.abc import Mapping

import msgspec

from portico.acp import _schema as schema
from portico.porter.loop.history import History
from portico.porter.loop.instructions import system_text
from portico.porter.loop.loop import Loop, Means
from portico.porter.models.port import AssistantMessage, Text, UserMessage
from portico.porter.scenarios.scenario import Mode, Scenario, Scenarios
from portico.porter.toolcalls import ToolCall, Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Offered, ToolFailure

_WIDTH = {Mode.READ: 0, Mode.PROPOSE: 1, Mode.WRITE: 2}
_SHOWN = 4000


class Delegating:
    def __init__(
        self, means: Means, bench: Bench, tools: Mapping[str, Offered], scenarios: Scenarios
    ) -> None:
        self._means = means
        self._bench = bench
        self._tools = tools
        self._scenarios = scenarios

    async def do(self, title: str, task: str, name: str) -> str:
        """Do a task; the report. ToolFailure if there is no such scenario, or nothing was reported."""
        scenario = self._narrowed(name)
        tools = {
            name: tool for name, tool in self._tools.items() if scenario.offers(name) and name != "delegate"
        }
        bench = msgspec.structs.replace(self._bench, scenario=scenario, delegate=None)
        history = History()
        history.add(UserMessage((Text(task),)))
        work = Work(title=f"{scenario.name}: {title}", kind="think", raw_input={"task": task[:_SHOWN]})
        async with self._bench.turn.tool(work) as call:
            system = await asyncio.to_thread(
                system_text, scenario, bench.workspace, tiny=self._means.facts.tiny
            )
            loop = Loop(
                self._means, bench, tools, system=system, history=history, voice=_Report(call, self._bench)
            )
            reason = await loop.run()
            report = _last_words(history)
            if not report:
                raise ToolFailure(
                    "The helper ended without a report. Do it yourself, or give it a smaller task."
                )
        return report if reason == "end_turn" else f"{report}\n\n[The helper was stopped early: {reason}.]"

    def _narrowed(self, name: str) -> Scenario:
        scenario = self._scenarios.get(name)
        if scenario is None:
            raise ToolFailure(
                f"There is no scenario {name!r}. There are: {', '.join(self._scenarios.by_name)}."
            )
        if _WIDTH[scenario.mode] > _WIDTH[self._bench.scenario.mode]:
            return msgspec.structs.replace(scenario, mode=self._bench.scenario.mode)
        return scenario


class _Report:
    """The words of a helper are shown under its task, not as an answer to the person."""

    def __init__(self, call: ToolCall, bench: Bench) -> None:
        self._call = call
        self._bench = bench
        self._text = ""

    async def say_piece(self, text: str, *, begins: bool) -> None:
        self._text += f"\n\n{text}" if begins and self._text else text
        self._call.show(schema.Content(content=schema.TextContent(text=self._text[-_SHOWN:])))

    async def think_piece(self, text: str) -> None:
        return

    def notice(self, title: str, description: str | None = None, *, severity: str = "info") -> None:
        self._bench.turn.notice(title, description, severity=severity)


def _last_words(history: History) -> str:
    for message in reversed(history.messages):
        if isinstance(message, AssistantMessage) and message.text.strip():
            return message.text.strip()
    return ""
