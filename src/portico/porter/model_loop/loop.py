"""The loop of one turn: request, tool calls, next request, until the model is done or a limit is reached.

The history is always consistent: everything shown is in it, and each call has a result, even if the turn is
cancelled or fails.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.domain.errors import BudgetExceeded, ContextLimit, ModelFailed
from portico.porter.history import MessageHistory
from portico.porter.model_loop.answer_stream import (
    AnswerInterrupted,
    AnswerSink,
    StreamedAnswer,
    receive_answer,
)
from portico.porter.model_loop.compaction import FULL, UNKNOWN_WINDOW, drop_old_results, summarize
from portico.porter.model_loop.draft import Draft, plain_messages
from portico.porter.model_loop.drift import DriftGuard, first_calls
from portico.porter.model_loop.project_check import ProjectCheck
from portico.porter.model_loop.repetition import RepetitionGuard
from portico.porter.model_loop.token_estimate import TokenEstimate
from portico.porter.model_loop.tool_calls import ToolCallBatch
from portico.porter.model_loop.usage import TurnUsage
from portico.porter.models.model import (
    AssistantMessage,
    Model,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelUsage,
    RequestLimits,
    ResponseFinished,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from portico.porter.models.spending_limit import SpendingLimit
from portico.porter.models.written_call_stream import WrittenCallModel
from portico.porter.profiles.profile import ModelProfile
from portico.porter.tools.context import ToolContext
from portico.porter.tools.todo_read import render_todos
from portico.porter.tools.tool import ModelTool

_PASSES = "The check of the project passes now."
_KEPT_WHOLE = 6
"""Number of newest messages that keep their tool results when old results are dropped."""


def shown_spec(spec: ToolSpec, profile: ModelProfile) -> ToolSpec:
    """A tool as a profile shows it to a model: with a shorter description, and fewer parameters."""
    described = profile.descriptions.get(spec.name)
    if described is not None:
        spec = msgspec.structs.replace(spec, description=described)
    names = profile.parameters.get(spec.name)
    if names is None:
        return spec
    schema = codecs.decode_json(spec.schema)
    properties = schema.get("properties", {})
    schema["properties"] = {name: properties[name] for name in names if name in properties}
    return msgspec.structs.replace(spec, schema=msgspec.json.encode(schema))


class MeteredModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its facts, and the accounting of tokens and cost."""

    model: Model
    facts: ModelFacts
    token_estimate: TokenEstimate
    turn_usage: TurnUsage
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
        check: ProjectCheck | None = None,
        draft: Draft | None = None,
    ) -> None:
        self._metered = metered
        self._context = context
        self._tools = tools if metered.facts.tools else {}
        self._system = system
        self._history = history
        self._sink = sink
        self._profile = context.profile
        self._model = WrittenCallModel(metered.model) if self._profile.written_calls else metered.model
        self._repetition = RepetitionGuard(self._profile.guards)
        self._drift = DriftGuard(self._profile.guards)
        self._check = check
        self._draft = draft
        self._failures: str | None = None
        self._repairs = self._profile.checks.repairs

    async def run(self) -> schema.StopReason:
        """Run until the model is done and return the stop reason. Raises errors the model cannot recover from."""
        steps = self._steps
        for _ in range(steps):
            finished = await self._ask()
            if not finished.message.calls:
                if self._object():
                    continue
                # A model that drafts nothing works with tools.
                self._draft = None
                if self._remind(finished) or await self._repair():
                    continue
                return self._ended(finished)
            await self._call(finished)
            if await self._passes_now():
                return "end_turn"
            if self._draft is not None and not self._drift.failures:
                if await self._repair():
                    continue
                return "end_turn"
            self._draft = None
            if self._repetition.hopeless:
                self._sink.notice(
                    "The model kept repeating the same calls, so the turn was ended.",
                    "Describe the task in more detail, or choose a stronger model.",
                    severity="warning",
                )
                return "end_turn"
            if self._drift.stuck:
                self._sink.notice(
                    f"The last {self._drift.failures} calls of the model failed, so the turn was ended.",
                    "Describe a smaller step, or choose a stronger model.",
                    severity="warning",
                )
                return "end_turn"
        self._sink.notice(
            f"The turn was ended after {steps} steps, the limit of {self._limited_by}.",
            "Send another prompt to continue.",
            severity="warning",
        )
        return "max_turn_requests"

    @property
    def _steps(self) -> int:
        own, most = self._context.scenario.limits.steps, self._profile.limits.steps
        return own if most is None else min(own, most)

    @property
    def _limited_by(self) -> str:
        scenario = self._context.scenario
        return f"the scenario {scenario.name}" if self._steps == scenario.limits.steps else "small models"

    def _object(self) -> bool:
        """Tell a model why its draft was not written. Returns whether it was told."""
        words = None if self._draft is None else self._draft.consume_objection()
        if words is not None:
            self._history.add(UserMessage((ModelText(words),)))
        return words is not None

    def _remind(self, finished: ResponseFinished) -> bool:
        """Ask a model that only described a change to make it. Returns whether it was asked."""
        words = self._drift.reminder(finished, self._history.messages) if self._context.may_write else None
        if words is not None:
            self._history.add(UserMessage((ModelText(words),)))
        return words is not None

    async def _passes_now(self) -> bool:
        """Check again after a change if the check failed before. Tells the user if it passes now."""
        check = self._check
        failed_before = check is not None and check.passed is False
        if check is None or not failed_before or not self._drift.consume_change():
            return False
        self._failures = await check.failures(self._context)
        if not check.passed:
            return False
        self._history.add(AssistantMessage((ModelText(_PASSES),), model=self._metered.model.name))
        await self._sink.stream_text(_PASSES, begins=True)
        return True

    async def _repair(self) -> bool:
        """Check the project after a change, and tell the model what fails. Returns whether it was told."""
        if self._check is None or not self._context.may_write:
            return False
        if self._drift.consume_change():
            self._failures = await self._check.failures(self._context)
        failures, self._failures = self._failures, None
        if failures is None:
            return False
        if not self._repairs:
            self._sink.notice(
                "The check of the project still fails.",
                "Look at the changes before you keep them, or describe what is wrong.",
                severity="warning",
            )
            return False
        self._repairs -= 1
        files = () if self._draft is None else await self._draft.material()
        self._history.add(UserMessage((*files, ModelText(failures))))
        return True

    def _ended(self, finished: ResponseFinished) -> schema.StopReason:
        if finished.reason == "length":
            self._sink.notice(
                "The answer was cut off: it reached the model's output limit.",
                "Send “continue” to get the rest.",
                severity="warning",
            )
            return "max_tokens"
        if not finished.message.text.strip():
            self._sink.notice("The model gave an empty answer.", "Send the prompt again.", severity="warning")
        return "end_turn"

    async def _ask(self) -> ResponseFinished:
        self._report_todo_changes()
        if self._metered.token_estimate.of_request(self._request()) > FULL * self._metered.window:
            await self._condense()
        try:
            return await self._answer()
        except ContextLimit:
            # The provider counts tokens differently: retry once with a shorter history.
            await self._condense(thoroughly=True)
            return await self._answer()

    def _report_todo_changes(self) -> None:
        """Tell the model if the user changed the to-do list. Delegated tasks do not see the list."""
        session = self._context.turn.session
        if self._history is session.history and session.consume_todo_change():
            words = f"[The user changed the to-do list. It is now:\n{render_todos(session.todos)}]"
            self._history.add(UserMessage((ModelText(words),)))

    async def _answer(self) -> ResponseFinished:
        request = self._request()
        await asyncio.to_thread(self._metered.spending_limit.check)
        answer = StreamedAnswer(self._metered.model.name, self._sink)
        try:
            finished = await receive_answer(self._model, request, answer)
        except AnswerInterrupted as error:
            self._keep_shown(answer)
            raise ModelFailed(
                "The model's answer was interrupted.", suggestion="Send the prompt again to continue."
            ) from error
        except BaseException:
            self._keep_shown(answer)
            raise
        finally:
            await self._count(request, answer.usage)
        if finished.message.calls:
            self._draft = None
        if self._draft is not None:
            finished = await self._draft.take(finished)
        else:
            finished = first_calls(finished, self._profile.limits.calls)
        self._history.add(finished.message)
        return finished

    def _keep_shown(self, answer: StreamedAnswer) -> None:
        if (shown := answer.shown) is not None:
            self._history.add(shown)

    async def _count(self, request: ModelRequest, usage: ModelUsage) -> None:
        if usage == ModelUsage():
            return
        metered = self._metered
        metered.token_estimate.learn(request, usage.input)
        await self._spend(usage)
        used = usage.input + usage.output
        self._context.turn.send_update(metered.turn_usage.window(used, metered.window))

    async def _spend(self, usage: ModelUsage) -> None:
        self._metered.turn_usage.add(usage)
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
            results = calls.results(asked)
            self._history.add(ToolMessage(results))
        self._drift.note(results)

    async def _condense(self, *, thoroughly: bool = False) -> None:
        """Make room in the context window, and report it. Dropping old tool results is often enough."""
        metered, compaction_id = self._metered, self._context.turn.new_id()
        self._tell(compaction_id, "in_progress")
        try:
            fewer = drop_old_results(self._history.messages, _KEPT_WHOLE)
            summary = "Old tool results were dropped."
            if thoroughly or metered.token_estimate.tokens(fewer) > 0.5 * metered.window:
                await asyncio.to_thread(metered.spending_limit.check)
                shorter = await summarize(metered.model, fewer, metered.window, metered.token_estimate)
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
        messages = self._history.messages
        tools = tuple(shown_spec(tool.spec(), self._profile) for tool in self._tools.values())
        return ModelRequest(
            system=self._system if self._draft is None else self._profile.texts.draft,
            messages=messages if self._draft is None else plain_messages(messages),
            tools=tools if self._draft is None else (),
            limits=RequestLimits(
                output_tokens=self._context.scenario.limits.output_tokens
                or self._profile.limits.output_tokens
            ),
        )
