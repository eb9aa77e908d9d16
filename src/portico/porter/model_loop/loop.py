"""The loop of one turn: request, tool calls, next request, until the model is done or a limit is reached.

The history is consistent at every moment: what was shown is in it, and each call has its result, also when the
turn is cancelled or fails in between.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from portico.acp import _schema as schema
from portico.domain.errors import BudgetExceeded, ContextLimit, ModelFailed
from portico.porter.history import MessageHistory
from portico.porter.model_loop.answer_stream import (
    AnswerInterrupted,
    AnswerSink,
    StreamedAnswer,
    receive_answer,
)
from portico.porter.model_loop.compaction import FULL, UNKNOWN_WINDOW, drop_old_results, summarize
from portico.porter.model_loop.repetition import RepetitionGuard
from portico.porter.model_loop.token_estimate import TokenEstimate
from portico.porter.model_loop.tool_calls import ToolCallBatch
from portico.porter.model_loop.usage import TurnUsage
from portico.porter.models.model import (
    Model,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelUsage,
    RequestLimits,
    ResponseFinished,
    ToolMessage,
    UserMessage,
)
from portico.porter.models.spending_limit import SpendingLimit
from portico.porter.tools.context import ToolContext
from portico.porter.tools.todo_read import shown
from portico.porter.tools.tool import ModelTool

_KEPT_WHOLE = 6
"""So many of the newest messages keep their results when old ones are let go."""


class MeteredModel(msgspec.Struct, frozen=True, kw_only=True):
    """What a loop works with: a model, what is known of it, and who counts what it takes."""

    model: Model
    facts: ModelFacts
    measure: TokenEstimate
    tally: TurnUsage
    spending_limit: SpendingLimit

    @property
    def window(self) -> int:
        return self.facts.window or UNKNOWN_WINDOW


class ModelLoop:
    def __init__(
        self,
        metered: MeteredModel,
        context: ToolContext,
        tools: Mapping[str, ModelTool],
        *,
        system: str,
        history: MessageHistory,
        sink: AnswerSink,
    ) -> None:
        self._metered = metered
        self._context = context
        self._tools = tools if metered.facts.tools else {}
        self._system = system
        self._history = history
        self._sink = sink
        self._repetition = RepetitionGuard()

    async def run(self) -> schema.StopReason:
        """Work until the model is done; why it ended. Raises what the model cannot recover from."""
        steps = self._context.scenario.limits.steps
        for _ in range(steps):
            finished = await self._ask()
            if not finished.message.calls:
                return self._ended(finished)
            await self._call(finished)
            if self._repetition.hopeless:
                self._sink.notice(
                    "The model kept making the same calls, so the turn was ended.",
                    "Say more about what you want, or choose a stronger model.",
                    severity="warning",
                )
                return "end_turn"
        self._sink.notice(
            f"The turn was ended after {steps} steps, its limit in the scenario {self._context.scenario.name}.",
            "Send another prompt to go on.",
            severity="warning",
        )
        return "max_turn_requests"

    def _ended(self, finished: ResponseFinished) -> schema.StopReason:
        if finished.reason == "length":
            self._sink.notice(
                "The answer was cut: it reached the model's limit for one answer.",
                "Send “go on” to get the rest.",
                severity="warning",
            )
            return "max_tokens"
        if not finished.message.text.strip():
            self._sink.notice("The model gave an empty answer.", "Send the prompt again.", severity="warning")
        return "end_turn"

    async def _ask(self) -> ResponseFinished:
        self._report_todo_changes()
        if self._metered.measure.of_request(self._request()) > FULL * self._metered.window:
            await self._condense()
        try:
            return await self._answer()
        except ContextLimit:
            # The provider counts otherwise than we do: once, it gets a shorter conversation.
            await self._condense(thoroughly=True)
            return await self._answer()

    def _report_todo_changes(self) -> None:
        """What the person wrote in the list is known before the model goes on. A helper has no part in it."""
        conversation = self._context.turn.conversation
        if self._history is conversation.history and conversation.consume_todo_change():
            words = f"[The person changed the list of things to do. Now:\n{shown(conversation.todos)}]"
            self._history.add(UserMessage((ModelText(words),)))

    async def _answer(self) -> ResponseFinished:
        request = self._request()
        await asyncio.to_thread(self._metered.spending_limit.check)
        answer = StreamedAnswer(self._metered.model.name, self._sink)
        try:
            finished = await receive_answer(self._metered.model, request, answer)
        except AnswerInterrupted as error:
            self._keep_shown(answer)
            raise ModelFailed(
                "The model's answer broke off.", suggestion="Send the prompt again to go on."
            ) from error
        except BaseException:
            self._keep_shown(answer)
            raise
        finally:
            await self._count(request, answer.usage)
        self._history.add(finished.message)
        return finished

    def _keep_shown(self, answer: StreamedAnswer) -> None:
        if (shown := answer.shown) is not None:
            self._history.add(shown)

    async def _count(self, request: ModelRequest, usage: ModelUsage) -> None:
        if usage == ModelUsage():
            return
        metered = self._metered
        metered.measure.learn(request, usage.input)
        await self._spend(usage)
        used = usage.input + usage.output
        self._context.turn.send_update(metered.tally.window(used, metered.window))

    async def _spend(self, usage: ModelUsage) -> None:
        self._metered.tally.add(usage)
        for warning in await asyncio.to_thread(self._metered.spending_limit.add, usage):
            self._sink.notice(warning, severity="warning")

    async def _call(self, finished: ResponseFinished) -> None:
        asked = finished.message.calls
        calls = ToolCallBatch(
            self._context, self._tools, self._repetition, cut_off=finished.reason == "length"
        )
        try:
            await calls.make(asked)
        finally:
            self._history.add(ToolMessage(calls.results(asked)))

    async def _condense(self, *, thoroughly: bool = False) -> None:
        """Make room in the window, and say so. Old results go first; that is enough surprisingly often."""
        metered, compaction_id = self._metered, self._context.turn.new_id()
        self._tell(compaction_id, "in_progress")
        try:
            fewer = drop_old_results(self._history.messages, _KEPT_WHOLE)
            summary = "Old results of tools were let go."
            if thoroughly or metered.measure.tokens(fewer) > 0.5 * metered.window:
                await asyncio.to_thread(metered.spending_limit.check)
                shorter = await summarize(metered.model, fewer, metered.window, metered.measure)
                fewer, summary = shorter.messages, shorter.summary
                await self._spend(shorter.usage)
        except (asyncio.CancelledError, BudgetExceeded):
            self._tell(compaction_id, "cancelled")
            raise
        self._history.compact(fewer)
        self._tell(compaction_id, "completed", summary)

    def _tell(self, compaction_id: str, status: str, summary: str | None = None) -> None:
        update = schema.CompactionUpdate(compaction_id=compaction_id, status=status)
        if summary is not None:
            update = msgspec.structs.replace(update, summary=[schema.TextContent(text=summary)])
        self._context.turn.send_update(update)

    def _request(self) -> ModelRequest:
        return ModelRequest(
            system=self._system,
            messages=self._history.messages,
            tools=tuple(tool.spec() for tool in self._tools.values()),
            limits=RequestLimits(output_tokens=self._context.scenario.limits.output_tokens),
        )
