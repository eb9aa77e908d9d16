"""The loop of one turn: ask the model, make its calls, ask again, until it is done or a limit says stop.

The history is consistent at every moment: what was shown is in it, and each call has its result, also when the
turn is cancelled or fails in between.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from portico.acp import _schema as schema
from portico.domain.errors import BudgetExceeded, ContextLimit, ModelFailed
from portico.porter.loop.calling import Calls
from portico.porter.loop.compaction import FULL, UNKNOWN_WINDOW, let_go, summarised
from portico.porter.loop.history import History
from portico.porter.loop.repetition import Repetition
from portico.porter.loop.size import Measure
from portico.porter.loop.streaming import Answer, BrokenOff, Voice, receive
from portico.porter.loop.tally import Purse, Tally
from portico.porter.models.port import (
    Finished,
    Model,
    ModelFacts,
    ModelRequest,
    RequestLimits,
    Text,
    ToolMessage,
    Usage,
    UserMessage,
)
from portico.porter.tools.bench import Bench
from portico.porter.tools.todo_read import shown
from portico.porter.tools.tool import Offered

_KEPT_WHOLE = 6
"""So many of the newest messages keep their results when old ones are let go."""


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a loop works with: a model, what is known of it, and who counts what it takes."""

    model: Model
    facts: ModelFacts
    measure: Measure
    tally: Tally
    purse: Purse

    @property
    def window(self) -> int:
        return self.facts.window or UNKNOWN_WINDOW


class Loop:
    def __init__(
        self,
        means: Means,
        bench: Bench,
        tools: Mapping[str, Offered],
        *,
        system: str,
        history: History,
        voice: Voice,
    ) -> None:
        self._means = means
        self._bench = bench
        self._tools = tools if means.facts.tools else {}
        self._system = system
        self._history = history
        self._voice = voice
        self._repetition = Repetition()

    async def run(self) -> schema.StopReason:
        """Work until the model is done; why it ended. Raises what the model cannot recover from."""
        steps = self._bench.scenario.limits.steps
        for _ in range(steps):
            finished = await self._ask()
            if not finished.message.calls:
                return self._ended(finished)
            await self._call(finished)
            if self._repetition.hopeless:
                self._voice.notice(
                    "The model kept making the same calls, so the turn was ended.",
                    "Say more about what you want, or choose a stronger model.",
                    severity="warning",
                )
                return "end_turn"
        self._voice.notice(
            f"The turn was ended after {steps} steps, its limit in the scenario {self._bench.scenario.name}.",
            "Send another prompt to go on.",
            severity="warning",
        )
        return "max_turn_requests"

    def _ended(self, finished: Finished) -> schema.StopReason:
        if finished.reason == "length":
            self._voice.notice(
                "The answer was cut: it reached the model's limit for one answer.",
                "Send “go on” to get the rest.",
                severity="warning",
            )
            return "max_tokens"
        if not finished.message.text.strip():
            self._voice.notice(
                "The model gave an empty answer.", "Send the prompt again.", severity="warning"
            )
        return "end_turn"

    async def _ask(self) -> Finished:
        self._hear_of_list()
        if self._means.measure.of_request(self._request()) > FULL * self._means.window:
            await self._condense()
        try:
            return await self._answer()
        except ContextLimit:
            # The provider counts otherwise than we do: once, it gets a shorter conversation.
            await self._condense(thoroughly=True)
            return await self._answer()

    def _hear_of_list(self) -> None:
        """What the person wrote in the list is known before the model goes on. A helper has no part in it."""
        conversation = self._bench.turn.conversation
        if self._history is conversation.history and conversation.todos_news():
            words = f"[The person changed the list of things to do. Now:\n{shown(conversation.todos)}]"
            self._history.add(UserMessage((Text(words),)))

    async def _answer(self) -> Finished:
        request = self._request()
        await asyncio.to_thread(self._means.purse.check)
        answer = Answer(self._means.model.name, self._voice)
        try:
            finished = await receive(self._means.model, request, answer)
        except BrokenOff as error:
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

    def _keep_shown(self, answer: Answer) -> None:
        if (shown := answer.shown) is not None:
            self._history.add(shown)

    async def _count(self, request: ModelRequest, usage: Usage) -> None:
        if usage == Usage():
            return
        means = self._means
        means.measure.learn(request, usage.input)
        await self._spend(usage)
        used = usage.input + usage.output
        self._bench.turn.inform(means.tally.window(used, means.window))

    async def _spend(self, usage: Usage) -> None:
        self._means.tally.add(usage)
        for warning in await asyncio.to_thread(self._means.purse.add, usage):
            self._voice.notice(warning, severity="warning")

    async def _call(self, finished: Finished) -> None:
        asked = finished.message.calls
        calls = Calls(self._bench, self._tools, self._repetition, cut_off=finished.reason == "length")
        try:
            await calls.make(asked)
        finally:
            self._history.add(ToolMessage(calls.results(asked)))

    async def _condense(self, *, thoroughly: bool = False) -> None:
        """Make room in the window, and say so. Old results go first; that is enough surprisingly often."""
        means, compaction_id = self._means, self._bench.turn.new_id()
        self._tell(compaction_id, "in_progress")
        try:
            fewer = let_go(self._history.messages, _KEPT_WHOLE)
            summary = "Old results of tools were let go."
            if thoroughly or means.measure.tokens(fewer) > 0.5 * means.window:
                await asyncio.to_thread(means.purse.check)
                shorter = await summarised(means.model, fewer, means.window, means.measure)
                fewer, summary = shorter.messages, shorter.summary
                await self._spend(shorter.usage)
        except (asyncio.CancelledError, BudgetExceeded):
            self._tell(compaction_id, "cancelled")
            raise
        self._history.condense(fewer)
        self._tell(compaction_id, "completed", summary)

    def _tell(self, compaction_id: str, status: str, summary: str | None = None) -> None:
        update = schema.CompactionUpdate(compaction_id=compaction_id, status=status)
        if summary is not None:
            update = msgspec.structs.replace(update, summary=[schema.TextContent(text=summary)])
        self._bench.turn.inform(update)

    def _request(self) -> ModelRequest:
        return ModelRequest(
            system=self._system,
            messages=self._history.messages,
            tools=tuple(tool.spec() for tool in self._tools.values()),
            limits=RequestLimits(output_tokens=self._bench.scenario.limits.output_tokens),
        )
