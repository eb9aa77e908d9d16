"""`portico prompts run`: send a filled prompt to an agent, and keep the answer with its provenance."""

import argparse
import os
import sys
from pathlib import Path

import msgspec

from portico.app.prompt_run import FilledPrompt, PreparedRun
from portico.cli.arguments import CommandParser, require_utf8
from portico.cli.exec import (
    ExecFailure,
    ExecResult,
    TurnRequest,
    add_turn_flags,
    run_turn,
    summarize_turn,
)
from portico.cli.prompt_values import add_value_flags, fill_prompt, typed_values
from portico.cli.session_options import SelectedSession
from portico.config.paths import expand_user_path
from portico.config.settings import Settings
from portico.domain.errors import InvalidInput
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.turn_outcome import TurnOutcome
from portico.prompts.front_matter import READ_ONLY, FrontMatter
from portico.prompts.output_file import OutputFile
from portico.prompts.provenance import RunProvenance, RunUsage
from portico.prompts.run_options import default_output, lowered_budget
from portico.prompts.session_variables import fresh_values, save_variables
from portico.sessions.requests.approver import is_interactive


class PromptResult(ExecResult, frozen=True, kw_only=True, rename="camel"):
    """Output of `--api` for a run that succeeded. `output` is the file that was written."""

    model: str | None
    provider: str | None
    usage: RunUsage
    cost_usd: float | None
    finish_reason: str
    provenance: RunProvenance
    warnings: tuple[str, ...]
    output: str | None
    trace_id: str


class PromptFailure(ExecFailure, frozen=True, kw_only=True):
    """Output of `--api` for a run that failed; `text` is the answer so far."""

    model: str | None
    cost_usd: float | None = msgspec.field(name="costUsd")
    provenance: RunProvenance
    warnings: tuple[str, ...]
    output: str | None


def add_run_flags(parser: CommandParser) -> None:
    add_value_flags(parser)
    parser.add_argument("--output", metavar="FILE", help="file for the answer, with its provenance")
    parser.add_argument(
        "--force", action="store_true", help="overwrite an output file that was edited after a run wrote it"
    )
    add_turn_flags(parser)
    parser.add_argument("--stream", dest="json_stream", action="store_true", help="the same as --json-stream")


def run_prompt(flags: argparse.Namespace) -> int:
    flagged = _FlaggedRun(flags)
    code = run_turn(flags, flagged.request)
    if code == 0 and not flags.api and not flags.json_stream:
        _offer_to_save(flags, flagged.filled)
    return code


class _FlaggedRun:
    """A prompt that is ready to be sent. Flags that are not given are taken from the prompt."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self.filled = fill_prompt(flags, asks=not flags.api and not flags.json_stream)
        self._flags = flags
        self._prepared = PreparedRun(self.filled, os.environ)
        self._apply(self._prepared.matter, self.filled.settings)
        self._prepared.output = self._output_file()

    def request(self) -> TurnRequest:
        return TurnRequest(
            text=self.filled.rendered.text,
            mentions=self.filled.prompt.text,
            source=self._prepared.source,
            observe=self._prepared.run.take,
            finish=self._finish,
            quiet=self._prepared.output is not None and not sys.stdout.isatty(),
        )

    def _apply(self, matter: FrontMatter, settings: Settings) -> None:
        """Set the flags that are not given to what the prompt asks for."""
        flags = self._flags
        continues = bool(flags.session or flags.go_on or flags.agent_session)
        if flags.model is None:
            flags.model = matter.model
        if continues:
            return
        if flags.mode is None and not flags.read_only:
            flags.read_only = matter.mode == READ_ONLY
            flags.mode = None if matter.mode == READ_ONLY else matter.mode
        lowered = lowered_budget(matter, settings, os.environ)
        flags.budget_usd = lowered.dollars if flags.budget_usd is None else flags.budget_usd
        flags.budget_tokens = lowered.tokens if flags.budget_tokens is None else flags.budget_tokens

    def _output_file(self) -> OutputFile | None:
        flags = self._flags
        if flags.output is not None:
            path = expand_user_path(require_utf8(flags.output, "The name of the output file"))
        elif self._prepared.matter.output == "file":
            source = None if flags.file in (None, "-") else Path(flags.file)
            path = default_output(self.filled.entry, source)
        else:
            return None
        return OutputFile(path, force=flags.force)

    def _finish(self, chosen: SelectedSession, outcome: TurnOutcome) -> ExecResult | ExecFailure:
        summary = summarize_turn(chosen, outcome)
        failed = isinstance(summary, ExecFailure)
        trace_id = summary.diagnostics.trace_id if isinstance(summary, ExecFailure) else os.urandom(8).hex()
        prepared, run = self._prepared, self._prepared.run
        provenance = prepared.record(
            outcome.text,
            agent=chosen.agent,
            session_id=chosen.session_id,
            trace_id=trace_id,
            has_cost_limit=self._flags.budget_usd is not None,
        )
        if not self._flags.api:
            self._tell(outcome, prepared.written)
        shared = {
            "model": run.model,
            "cost_usd": run.session_cost if chosen.new else None,
            "provenance": provenance,
            "warnings": prepared.warnings,
            "output": None if prepared.written is None else str(prepared.written),
        }
        facts = {name: getattr(summary, name) for name in summary.__struct_fields__} | shared
        if failed:
            return PromptFailure(**facts)
        return PromptResult(
            **facts,
            provider=run.provider,
            usage=run.usage,
            finish_reason=provenance.finish_reason,
            trace_id=trace_id,
        )

    def _tell(self, outcome: TurnOutcome, written: Path | None) -> None:
        """Print beside the answer what a person should know."""
        run = self._prepared.run
        for warning in self._prepared.warnings:
            if warning not in run.warnings:
                print(f"portico: warning: {clean_line(warning)}", file=sys.stderr)
        if written is not None:
            seconds = outcome.ended.duration_ms / 1000 if outcome.ended else 0.0
            facts = [run.model or "", f"{seconds:.1f} s", "" if run.complete else "incomplete"]
            told = ", ".join(part for part in facts if part)
            print(f"Wrote {clean_line(str(written))} ({clean_line(told)}).", file=sys.stderr)


def _offer_to_save(flags: argparse.Namespace, filled: FilledPrompt) -> None:
    """Ask whether to save the values that were typed, if the settings name a file for them."""
    session, known = filled.session, {one.name for one in filled.prompt.variables}
    typed = {name: value for name, value in typed_values(flags).items() if name in known}
    fresh = fresh_values(typed, session)
    if session.path is None or not fresh or not is_interactive():
        return
    print(f"Save as session variables in {clean_line(str(session.path))}?", file=sys.stderr)
    for name, value in fresh.items():
        print(f'  "{name}": {clean_line(msgspec.json.encode(value).decode())}', file=sys.stderr)
    print("[y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return
    try:
        save_variables(session.path, fresh)
    except InvalidInput as error:
        print(f"portico: {clean_line(error.message)}", file=sys.stderr)
        return
    print(f"Saved {', '.join(fresh)}.", file=sys.stderr)
