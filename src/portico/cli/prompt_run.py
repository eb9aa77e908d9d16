"""`portico prompts run`: send a filled prompt to an agent, and keep the answer with its provenance."""

import argparse
import os
import sys
from pathlib import Path

import msgspec

from portico.cli.arguments import CommandParser, require_utf8
from portico.cli.exec import (
    ExecFailure,
    ExecResult,
    TurnRequest,
    add_turn_flags,
    run_turn,
    summarize_turn,
)
from portico.cli.prompt_values import FilledPrompt, add_value_flags, fill_prompt, typed_values
from portico.cli.session_options import SelectedSession
from portico.config.model_settings import Allowance, budgets_of_environment
from portico.config.paths import expand_user_path
from portico.config.settings import Settings
from portico.domain.errors import InvalidInput
from portico.domain.values import PromptReference
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.turn_outcome import TurnOutcome
from portico.prompts.catalog import CatalogEntry
from portico.prompts.front_matter import READ_ONLY, FrontMatter
from portico.prompts.output_file import OutputFile
from portico.prompts.provenance import PromptRun, RunProvenance, RunUsage
from portico.prompts.session_variables import savable, save_variables
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
        "--force", action="store_true", help="replace an output file that has another text than a run wrote"
    )
    add_turn_flags(parser)
    parser.add_argument("--stream", dest="json_stream", action="store_true", help="the same as --json-stream")


def run_prompt(flags: argparse.Namespace) -> int:
    prepared = _PreparedRun(flags)
    code = run_turn(flags, prepared.request)
    if code == 0 and not flags.api and not flags.json_stream:
        _offer_to_save(flags, prepared.filled)
    return code


class _PreparedRun:
    """A prompt that is filled in and ready to be sent. Flags that are not given are taken from the prompt."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self.filled = filled = fill_prompt(flags)
        entry, prompt = filled.entry, filled.prompt
        self._flags = flags
        self._warnings = [*prompt.warnings, *filled.session.warnings]
        matter = self._allowed(entry, prompt.matter, filled.settings)
        self._apply(matter, filled.settings)
        self._output = self._output_file(entry, matter)
        self._source = PromptReference(name=entry.name, fingerprint=prompt.digest, version=matter.version)
        self._run = PromptRun(self._source, filled.rendered.variables)

    def request(self) -> TurnRequest:
        return TurnRequest(
            text=self.filled.rendered.text,
            mentions=self.filled.prompt.text,
            source=self._source,
            observe=self._run.take,
            finish=self._finish,
            quiet=self._output is not None and not sys.stdout.isatty(),
        )

    def _allowed(self, entry: CatalogEntry, matter: FrontMatter, settings: Settings) -> FrontMatter:
        """Return what the prompt may decide: one of an untrusted workspace can only restrict its run."""
        if entry.origin != "workspace" or settings.trusted:
            return matter
        ignored = [name for name in ("model", "output") if getattr(matter, name) not in (None, "chat")]
        if matter.mode not in (None, READ_ONLY, "proposal"):
            ignored.append("mode")
        if ignored:
            listed = " and ".join(ignored)
            self._warnings.append(f"Ignored {listed} of the prompt, because this folder is not trusted.")
        return msgspec.structs.replace(
            matter,
            model=None,
            output="chat",
            mode=None if "mode" in ignored else matter.mode,
        )

    def _apply(self, matter: FrontMatter, settings: Settings) -> None:
        """Set the flags that are not given to what the prompt asks for."""
        flags = self._flags
        continues = bool(flags.session or flags.go_on or flags.agent_session)
        if flags.model is None:
            flags.model = matter.model
        if not continues and flags.mode is None and not flags.read_only:
            flags.read_only = matter.mode == READ_ONLY
            flags.mode = None if matter.mode == READ_ONLY else matter.mode
        if matter.budget != Allowance() and not continues:
            usual = Allowance(tokens=settings.budgets.turn.tokens, dollars=settings.max_cost_usd)
            lower = budgets_of_environment(os.environ).turn.over(usual).at_most(matter.budget)
            if flags.budget_usd is None and matter.budget.dollars is not None:
                flags.budget_usd = lower.dollars
            if flags.budget_tokens is None and matter.budget.tokens is not None:
                flags.budget_tokens = lower.tokens

    def _output_file(self, entry: CatalogEntry, matter: FrontMatter) -> OutputFile | None:
        named = self._flags.output
        if named is not None:
            path = expand_user_path(require_utf8(named, "The name of the output file"))
        elif matter.output == "file":
            name = f"{entry.name.replace('/', '-')}.md"
            file = self._flags.file
            path = Path(name) if file in (None, "-") else Path(file).with_name(f"{Path(file).stem}.{name}")
        else:
            return None
        return OutputFile(path, force=self._flags.force)

    def _finish(self, chosen: SelectedSession, outcome: TurnOutcome) -> ExecResult | ExecFailure:
        summary = summarize_turn(chosen, outcome)
        failed = isinstance(summary, ExecFailure)
        trace_id = summary.diagnostics.trace_id if isinstance(summary, ExecFailure) else os.urandom(8).hex()
        run = self._run
        if chosen.agent == "porter" and run.model == "default":
            # Late: it loads the providers, and most agents name their model themselves.
            from portico.porter.models.selection import default_model

            run.model = default_model(self.filled.settings.model, os.environ)
        self._warnings += run.warnings
        if self._flags.budget_usd is not None and chosen.agent != "porter":
            self._warnings.append(
                f"The agent {chosen.agent} keeps its own accounts: the cost limit is not checked."
            )
        provenance = run.provenance(agent=chosen.agent, session_id=chosen.session_id, trace_id=trace_id)
        written = self._write(outcome.text, provenance)
        if not self._flags.api:
            self._tell(outcome, written)
        shared = {
            "model": run.model,
            "cost_usd": run.session_cost if chosen.new else None,
            "provenance": provenance,
            "warnings": tuple(dict.fromkeys(self._warnings)),
            "output": None if written is None else str(written),
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

    def _write(self, text: str, provenance: RunProvenance) -> Path | None:
        if self._output is None or not text.strip():
            return None
        written = self._output.write(text, provenance)
        if written != self._output.path:
            why = "changed during the run" if provenance.complete else "has a complete answer"
            self._warnings.append(f"{self._output.path} {why}; this answer is in {written}.")
        return written

    def _tell(self, outcome: TurnOutcome, written: Path | None) -> None:
        """Print beside the answer what a person should know."""
        for warning in dict.fromkeys(self._warnings):
            if warning not in self._run.warnings:
                print(f"portico: warning: {clean_line(warning)}", file=sys.stderr)
        if written is not None:
            seconds = outcome.ended.duration_ms / 1000 if outcome.ended else 0.0
            facts = [self._run.model or "", f"{seconds:.1f} s", "" if self._run.complete else "incomplete"]
            told = ", ".join(part for part in facts if part)
            print(f"Wrote {clean_line(str(written))} ({clean_line(told)}).", file=sys.stderr)


def _offer_to_save(flags: argparse.Namespace, filled: FilledPrompt) -> None:
    """Ask whether to save the values that were typed, if the settings name a file for them."""
    session, known = filled.session, {one.name for one in filled.prompt.variables}
    typed = {name: value for name, value in savable(typed_values(flags)).items() if name in known}
    fresh = {name: value for name, value in typed.items() if session.values.get(name) != value}
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
