"""A task delegated to a second loop with its own history, narrower tools and a final report."""

import asyncio
from collections.abc import Mapping

import msgspec

from portico.acp import _schema as schema
from portico.porter.history import MessageHistory
from portico.porter.model_loop.instructions import system_text
from portico.porter.model_loop.loop import MeteredModel, ModelLoop
from portico.porter.models.model import AssistantMessage, ModelText, UserMessage
from portico.porter.scenarios.scenario import Scenario, ScenarioCatalog, ScenarioMode
from portico.porter.tool_call import ToolCallDetails, ToolCallReport, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import ModelTool

_WIDTH = {ScenarioMode.READ: 0, ScenarioMode.PROPOSE: 1, ScenarioMode.WRITE: 2}
_SHOWN = 4000


class Delegation:
    def __init__(
        self,
        metered: MeteredModel,
        context: ToolContext,
        tools: Mapping[str, ModelTool],
        scenarios: ScenarioCatalog,
    ) -> None:
        self._metered = metered
        self._context = context
        self._tools = tools
        self._scenarios = scenarios

    async def do(self, title: str, task: str, name: str) -> str:
        """Run a task and return its report. Raises ToolError for an unknown scenario or a missing report."""
        scenario = self._narrowed(name)
        tools = {
            name: tool
            for name, tool in self._tools.items()
            if scenario.offers(name, read_only=tool.read_only) and name != "delegate"
        }
        context = msgspec.structs.replace(self._context, scenario=scenario, delegate=None)
        history = MessageHistory()
        history.add(UserMessage((ModelText(task),)))
        work = ToolCallDetails(
            title=f"{scenario.name}: {title}", kind="think", raw_input={"task": task[:_SHOWN]}
        )
        async with self._context.turn.tool(work) as call:
            system = await asyncio.to_thread(system_text, scenario, context.workspace, context.profile)
            loop = ModelLoop(
                self._metered,
                context,
                tools,
                system=system,
                history=history,
                sink=_Report(call, self._context),
            )
            reason = await loop.run()
            report = _last_words(history)
            if not report:
                raise ToolError(
                    "The helper ended without a report. Do it yourself, or give it a smaller task."
                )
        return report if reason == "end_turn" else f"{report}\n\n[The helper was stopped early: {reason}.]"

    def _narrowed(self, name: str) -> Scenario:
        scenario = self._scenarios.get(name)
        if scenario is None:
            raise ToolError(f'Unknown scenario "{name}". Available: {", ".join(self._scenarios.by_name)}.')
        if _WIDTH[scenario.mode] > _WIDTH[self._context.scenario.mode]:
            return msgspec.structs.replace(scenario, mode=self._context.scenario.mode)
        return scenario


class _Report:
    """Shows the text of a helper under its tool call instead of as an answer to the user."""

    def __init__(self, call: ToolCallReport, context: ToolContext) -> None:
        self._call = call
        self._context = context
        self._text = ""

    async def stream_text(self, text: str, *, begins: bool) -> None:
        self._text += f"\n\n{text}" if begins and self._text else text
        self._call.show(schema.Content(content=schema.TextContent(text=self._text[-_SHOWN:])))

    async def stream_thought(self, text: str) -> None:
        return

    def notice(self, title: str, description: str | None = None, *, severity: str = "info") -> None:
        self._context.turn.notice(title, description, severity=severity)


def _last_words(history: MessageHistory) -> str:
    for message in reversed(history.messages):
        if isinstance(message, AssistantMessage) and message.text.strip():
            return message.text.strip()
    return ""
