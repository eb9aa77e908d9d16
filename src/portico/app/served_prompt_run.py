"""A run of a prompt file in a session of the server, as RunPrompt asks for it."""

import math
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.api.fields import to_double, to_int64
from portico.api.v1 import agent_pb as pb
from portico.app.program_log import log_failure
from portico.app.prompt_catalog import WorkspacePrompts
from portico.app.prompt_run import PreparedRun, fill_prompt
from portico.config.model_settings import Allowance, budget_variable, budgets_of_environment
from portico.domain.errors import ErrorCode, InvalidInput
from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.doors.turn_outcome import TurnOutcome
from portico.files.deadline import within_deadline
from portico.prompts.front_matter import READ_ONLY, PromptMode
from portico.prompts.input_file import MARKDOWN, read_file_of
from portico.prompts.output_file import (
    OutputFile,
    as_written,
    provenance_json,
    with_front_matter,
    without_provenance,
)
from portico.prompts.run_options import (
    INPUT,
    MAX_INPUT_BYTES,
    default_output,
    lowered_budget,
    too_large,
)
from portico.prompts.session_variables import fresh_values
from portico.sessions.content.mentions import links_in
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt


class ServedPromptRun:
    """Implements `doors.api.catalog.PromptRunPlan`. The constructor reads files, and blocks."""

    def __init__(
        self,
        prompts: WorkspacePrompts,
        request: pb.RunPromptRequest,
        spec: AgentSpec,
        environ: Mapping[str, str],
    ) -> None:
        workspace = prompts.workspace
        self._source_text: str | None = None
        filled = fill_prompt(prompts, request.name, lambda _: self._values(prompts, request))
        self._prepared = PreparedRun(filled, environ)
        matter, settings = self._prepared.matter, filled.settings
        limits = Allowance(dollars=_max_cost(request)).over(lowered_budget(matter, settings, environ))
        self.has_own_limits = limits != Allowance()
        self.spec = _with_limits(spec, limits, environ) if self.has_own_limits else spec
        self._has_cost_limit = limits.dollars is not None
        self.reads_only = matter.mode == READ_ONLY
        self.mode = _mode(matter.mode, settings.mode)
        model = request.model or matter.model
        self.prompt = TurnPrompt(
            text=filled.rendered.text,
            blocks=tuple(links_in(filled.prompt.text, workspace)),
            options={"model": model} if model else {},
            source=self._prepared.source,
        )
        if matter.output == "file":
            source = _source_in(workspace, request.source_path)
            self._prepared.output = OutputFile(workspace / default_output(filled.entry, source))
        self._fresh = fresh_values(request.values, filled.session)
        self._outcome = TurnOutcome()

    def take(self, event: Event) -> None:
        self._prepared.run.take(event)
        self._outcome.take(event.payload)

    async def finish(self, session_id: SessionId) -> pb.PromptRunResult:
        return await within_deadline(lambda: self._result(session_id))

    def _result(self, session_id: SessionId) -> pb.PromptRunResult:
        outcome, run = self._outcome, self._prepared.run
        trace_id = os.urandom(8).hex()
        error = ""
        if outcome.error is not None:
            message = outcome.error.message
            sentence = message if message.endswith((".", "!", "?")) else f"{message}."
            error = " ".join(filter(None, (sentence, outcome.error.details.suggestion)))
        elif not run.complete:
            error = "" if _was_cancelled(outcome) else "The run ended before the answer was complete."
        if error:
            code = ErrorCode.INTERNAL if outcome.error is None else outcome.error.code
            log_failure(code, error, trace_id)
        provenance = self._prepared.record(
            outcome.text,
            agent=self.spec.name,
            session_id=session_id,
            trace_id=trace_id,
            has_cost_limit=self._has_cost_limit,
        )
        _, written = as_written(outcome.text, provenance)
        path = self._prepared.written
        return pb.PromptRunResult(
            session_id=session_id,
            text=outcome.text,
            complete=provenance.complete,
            finish_reason=provenance.finish_reason,
            error=error,
            model=run.model or "",
            provider=run.provider or "",
            input_tokens=to_int64(run.usage.input_tokens),
            output_tokens=to_int64(run.usage.output_tokens),
            cost_usd=to_double(run.session_cost),
            duration_ms=outcome.ended.duration_ms if outcome.ended else 0,
            warnings=list(self._prepared.warnings),
            trace_id=trace_id,
            provenance_json=provenance_json(written).decode(),
            front_matter=with_front_matter("", written),
            output_path="" if path is None else str(path),
            savable=self._fresh,
            variables_path=str(self._prepared.filled.session.path or ""),
            source_text=self._source_text,
        )

    def _values(self, prompts: WorkspacePrompts, request: pb.RunPromptRequest) -> dict[str, str]:
        values = dict(request.values)
        for name, value in values.items():
            if len(value.encode()) > MAX_INPUT_BYTES:
                raise too_large(f"The value of {name}")
        if INPUT in values:
            if Path(request.source_path).suffix.lower() in MARKDOWN:
                values[INPUT] = without_provenance(values[INPUT])
        elif request.source_path and _has_input(prompts, request.name):
            self._source_text = values[INPUT] = read_file_of(prompts.workspace, request.source_path)
        return values


def _mode(wanted: PromptMode | None, usual: ReviewMode) -> ReviewMode:
    if wanted is None:
        return usual
    return "direct" if wanted == "read-only" else wanted


def _was_cancelled(outcome: TurnOutcome) -> bool:
    return outcome.ended is not None and outcome.ended.stop_reason == "cancelled"


def _has_input(prompts: WorkspacePrompts, name: str) -> bool:
    _, prompt = prompts.catalog.find(name)
    return any(variable.name == INPUT for variable in prompt.variables)


def _max_cost(request: pb.RunPromptRequest) -> float | None:
    if not request.has_field("max_cost_usd"):
        return None
    dollars = request.max_cost_usd
    if not (math.isfinite(dollars) and dollars >= 0):
        raise InvalidInput("max_cost_usd must be an amount in dollars.", suggestion="Example: 0.50")
    return dollars


def _with_limits(spec: AgentSpec, limits: Allowance, environ: Mapping[str, str]) -> AgentSpec:
    """Return the agent with limits of its own, over those of the environment."""
    turn = str(limits.over(budgets_of_environment({**environ, **spec.env}).turn))
    return msgspec.structs.replace(spec, env={**spec.env, budget_variable("turn"): turn})


def _source_in(workspace: Path, path: str) -> Path | None:
    """Return the file that the input is from, if it is in the workspace."""
    source = workspace / path
    return source if path and source.resolve().is_relative_to(workspace.resolve()) else None
