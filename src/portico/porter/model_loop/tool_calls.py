"""Runs the tool calls of one answer: read-only ones in parallel, the others in order.

A failure of a call becomes its result, so that the model can correct it. Only cancellation, a lost client and a
failed store end the batch.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from portico.domain.errors import InvalidInput, PorticoError, StoreFailed
from portico.porter.history import INTERRUPTED, failed_result
from portico.porter.model_loop.repetition import RepetitionGuard
from portico.porter.models.model import ModelText, ModelToolCall, ModelToolResult
from portico.porter.tool_call import CRASHED, ToolCallDetails, ToolError, was_shown
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import ModelTool, ToolOutcome
from portico.processes.tasks import silence_failure
from portico.rpc.messages import ConnectionLost

log = logging.getLogger(__name__)

AT_ONCE = 8
_NAME = 80
_CUT_OFF = "Your response was cut off at its limit, which may have broken this call: use smaller steps."
STOPPED = "The user stopped the turn before this call was made."


class ToolCallBatch:
    """The tool calls of one response. `results` is complete at any time."""

    def __init__(
        self,
        context: ToolContext,
        tools: Mapping[str, ModelTool],
        repetition: RepetitionGuard,
        *,
        cut_off: bool,
    ) -> None:
        self._context = context
        self._tools = tools
        self._repetition = repetition
        self._cut_off = cut_off
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._known: dict[str, ModelToolResult] = {}

    def results(self, calls: Sequence[ModelToolCall]) -> tuple[ModelToolResult, ...]:
        """Return one result for each call, including calls that were not made."""
        return tuple(self._known.get(call.id) or failed_result(call, STOPPED) for call in calls)

    async def make(self, calls: Sequence[ModelToolCall]) -> None:
        for parallel, group in groupby(calls, key=self._runs_in_parallel):
            if parallel:
                await _all(self._one(call) for call in group)
            else:
                for call in group:
                    await self._one(call)

    def _runs_in_parallel(self, call: ModelToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.parallel

    async def _one(self, call: ModelToolCall) -> None:
        if (words := self._repetition.refuses(call)) is not None:
            self._known[call.id] = failed_result(call, words)
            return
        tool = self._tools.get(call.name)
        if tool is None:
            words = self._unknown(call.name)
            self._known[call.id] = failed_result(call, words)
            await self._show_unmade(call, words)
            return
        async with self._gate:
            # Remains if the turn is cancelled during the call.
            self._known[call.id] = failed_result(call, INTERRUPTED)
            outcome = await self._outcome(tool, call)
        parts = tuple(
            ModelText(self._context.output_store.cut(part.text)) if isinstance(part, ModelText) else part
            for part in outcome.parts
        )
        result = ModelToolResult(call.id, call.name, parts, failed=outcome.failed)
        self._known[call.id] = result
        self._repetition.note(call, result, changes=tool.changes)

    async def _outcome(self, tool: ModelTool, call: ModelToolCall) -> ToolOutcome:
        try:
            return await tool.call(self._context, call.arguments)
        except (StoreFailed, ConnectionLost):
            raise
        except Exception as error:  # noqa: BLE001 - a tool that crashes is reported and logged
            words = self._words_for(error, tool)
            if not was_shown(error):
                shown = words if isinstance(error, (ToolError, PorticoError)) else CRASHED
                await self._show_unmade(call, shown)
        return ToolOutcome((ModelText(words),), failed=True)

    def _words_for(self, error: Exception, tool: ModelTool) -> str:
        """Return the error message for the model."""
        match error:
            case ToolError() if self._cut_off:
                return f"{error} {_CUT_OFF}"
            case ToolError():
                return str(error)
            case PorticoError():
                return error.message if error.suggestion is None else f"{error.message} {error.suggestion}"
            case _:
                log.error("tool %s crashed", tool.name, exc_info=error)
                return "The tool crashed because of a bug in Porter. Try another way."

    async def _show_unmade(self, call: ModelToolCall, words: str) -> None:
        """Show the user a call that failed before it began."""
        work = ToolCallDetails(title=f"Failed call of {call.name[:_NAME]}", kind="other")
        with suppress(InvalidInput):
            async with self._context.turn.tool(work):
                raise InvalidInput(words)

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self._tools, n=2, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Available: {', '.join(self._tools)}."
        return f'Unknown tool "{name}". {hint}'


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines concurrently. If one fails or this is cancelled, cancel the others and wait for them."""
    tasks = [silence_failure(asyncio.create_task(one, name="tool call")) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        task.result()
