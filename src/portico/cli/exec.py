"""`portico exec`: one prompt, streamed to a person, a pipe or a program."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from portico.app.failure_report import FailureDiagnostics
from portico.app.host import open_host
from portico.app.program_log import log_failure
from portico.chains.taps import open_trace
from portico.cli.arguments import CommandParser, add_trace_flag, require_utf8, seconds, trace_path
from portico.cli.attachments import add_attach_flag, mention_links, read_attachment_flags
from portico.cli.session_options import (
    SelectedSession,
    add_session_flags,
    agent_options_of,
    chain_options_of,
    choose_session,
    environ_with_limits,
)
from portico.client.turn import ShowEvent, follow_turn
from portico.domain.errors import ErrorCode, ExitCode, InvalidInput, PorticoError, SessionBusy
from portico.domain.events import Event
from portico.domain.values import PromptReference
from portico.doors.ndjson import NdjsonStream
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.session import LOST_HOST, explain_lost_host, lost_host_hint, terminal_session
from portico.doors.turn_outcome import TurnOutcome
from portico.processes.clock import SystemClock
from portico.sessions.requests.approver import Approver, Person
from portico.sessions.turn import TurnPrompt

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import TraceWriter

_DESCRIPTION = """Send one prompt to an agent and stream the turn.

  portico exec "/help"
  portico exec --continue "/test"
  git diff | portico exec --agent claude -
  portico exec --json-stream --allow edit "/write notes.md …"
  portico exec --attach screen.png "what is wrong here? see @src/page.css"
"""


class ExecResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Output of `--api` for a turn that succeeded."""

    status: str
    session_id: str
    text: str
    stop_reason: str
    tools_used: int
    duration_ms: int


class ExecFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Output of `--api` for a turn that failed."""

    status: str = "failed"
    error: str
    diagnostics: FailureDiagnostics
    session_id: str = msgspec.field(name="sessionId")
    text: str


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt to send, and what to do beside showing the turn.

    `finish` is called after the turn, and returns the object that `--api` prints. `mentions` is the part of the text
    whose `@path` are links to files. With `quiet`, the answer is not shown.
    """

    text: str
    mentions: str
    source: PromptReference | None = None
    observe: Callable[[Event], object] = lambda _: None
    finish: "FinishTurn | None" = None
    quiet: bool = False


FinishTurn = Callable[[SelectedSession, TurnOutcome], "ExecResult | ExecFailure"]


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("exec", _DESCRIPTION)
    parser.add_argument("prompt", help="prompt to send; - reads it from standard input")
    add_turn_flags(parser)
    flags = parser.parse(arguments)

    def read() -> TurnRequest:
        text = _read_prompt(flags.prompt)
        return TurnRequest(text=text, mentions=text)

    return run_turn(flags, read)


def add_turn_flags(parser: CommandParser) -> None:
    """Add the flags of a turn."""
    parser.add_argument(
        "--json-stream", action="store_true", help="print one JSON object per line, for programs"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, help="time after which the turn is stopped"
    )
    add_session_flags(parser)
    add_attach_flag(parser, "file to attach; may be repeated")
    add_trace_flag(parser)


def run_turn(flags: argparse.Namespace, read: Callable[[], TurnRequest]) -> int:
    """Send a prompt, and print its turn in the format of the flags."""
    if flags.api and flags.json_stream:
        raise InvalidInput("--api and --json-stream cannot be used together.")
    # Before the event loop starts, which would swallow the first Ctrl-C of a person who types the prompt.
    request = read()
    return asyncio.run(_exec(flags, environ_with_limits(flags, os.environ), request))


async def _exec(flags: argparse.Namespace, environ: Mapping[str, str], request: TurnRequest) -> int:
    if not request.text.strip():
        raise InvalidInput("The prompt is empty.", suggestion='Example: portico exec "/help"')
    prompt = TurnPrompt(text=request.text, blocks=await read_attachment_flags(flags), source=request.source)
    prompt.require_content()
    with open_trace(trace_path(flags), environ) as trace:
        return await _turn(flags, environ, request, prompt, trace)


async def _turn(
    flags: argparse.Namespace,
    environ: Mapping[str, str],
    request: TurnRequest,
    words: TurnPrompt,
    trace: "TraceWriter | None",
) -> int:
    chain_options = msgspec.structs.replace(chain_options_of(flags), trace=trace)
    async with open_host(environ, chain_options) as host:
        for_person = not flags.api and not flags.json_stream
        chosen = await choose_session(host, flags, environ, only_own_turns=True, for_person=for_person)
        blocks = (*words.blocks, *await mention_links(request.mentions, chosen.workspace))
        prompt = msgspec.structs.replace(
            words, blocks=blocks, options=agent_options_of(flags), timeout=flags.timeout
        )
        exchange = _Exchange(chosen, prompt, request, flags)
        try:
            if flags.json_stream:
                return await _stream(exchange)
            if flags.api or request.quiet:
                return await _api(exchange)
            return await _show(exchange, environ)
        except SessionBusy:
            if chosen.new:
                await host.service.delete(chosen.session_id)
            raise
        finally:
            await chosen.conversation.close()


class _Exchange(NamedTuple):
    """A prompt and the session that it goes to."""

    chosen: SelectedSession
    prompt: TurnPrompt
    request: TurnRequest
    flags: argparse.Namespace

    async def finish(self, outcome: TurnOutcome) -> "ExecResult | ExecFailure":
        return await asyncio.to_thread(self.request.finish or summarize_turn, self.chosen, outcome)


async def _stream(exchange: _Exchange) -> int:
    chosen = exchange.chosen
    stream = NdjsonStream()
    writing: list[asyncio.Task[None]] = []

    async def show(event: Event) -> None:
        # Shielded, so that a cancelled line does not appear after the lines that close the stream.
        writing[:] = [asyncio.create_task(asyncio.to_thread(_write_out, stream.line(event)), name="a line")]
        await asyncio.shield(writing[0])

    try:
        await _follow(exchange, show)
    except PorticoError as error:
        if writing:
            await asyncio.wait(writing)
        await asyncio.to_thread(_write_out, stream.close_after_error(error, SystemClock().now_ms()))
        raise
    explain_lost_host(stream.outcome, chosen.session_id)
    await exchange.finish(stream.outcome)
    return int(stream.outcome.exit_code)


async def _api(exchange: _Exchange) -> int:
    outcome = TurnOutcome()

    async def show(event: Event) -> None:
        outcome.take(event.payload)

    await _follow(exchange, show)
    result = await exchange.finish(outcome)
    if exchange.flags.api:
        print(msgspec.json.encode(result).decode())
    elif isinstance(result, ExecFailure):
        print(f"portico: {clean_line(result.error)}", file=sys.stderr)
    return int(outcome.exit_code)


async def _show(exchange: _Exchange, environ: Mapping[str, str]) -> int:
    chosen, outcome = exchange.chosen, TurnOutcome()
    async with terminal_session(environ, str(chosen.workspace), prompts="hidden") as (renderer, person):

        async def show(event: Event) -> None:
            outcome.take(event.payload)
            renderer.render(event)

        await _follow(exchange, show, person)
    explain_lost_host(outcome, chosen.session_id)
    if outcome.unanswered_requests:
        _explain_unanswered(outcome, chosen)
    if exchange.request.finish is not None:
        await exchange.finish(outcome)
    return int(outcome.exit_code)


async def _follow(exchange: _Exchange, show: ShowEvent, person: Person | None = None) -> None:
    chosen, observe = exchange.chosen, exchange.request.observe
    turn = chosen.conversation.begin(exchange.prompt, wait=exchange.flags.wait)

    async def watch(event: Event) -> None:
        observe(event)
        await show(event)

    await follow_turn(
        chosen.conversation, turn, after_seq=chosen.after_seq, show=watch, approver=Approver(person)
    )


def summarize_turn(chosen: SelectedSession, outcome: TurnOutcome) -> ExecResult | ExecFailure:
    """Return the output of `--api`, and log the trace id of a failure."""
    ended = outcome.ended
    if outcome.exit_code is ExitCode.OK and ended is not None:
        return ExecResult(
            status=ended.state.value,
            session_id=chosen.session_id,
            text=outcome.text,
            stop_reason=ended.stop_reason,
            tools_used=ended.tools_used,
            duration_ms=ended.duration_ms,
        )
    trace_id, error = os.urandom(8).hex(), _what_happened(outcome)
    log_failure(_code(outcome), error, trace_id)
    return ExecFailure(
        error=error,
        diagnostics=FailureDiagnostics(
            _code(outcome),
            outcome.error.details.suggestion if outcome.error else _hint(outcome, chosen),
            trace_id,
            int(outcome.exit_code),
        ),
        session_id=chosen.session_id,
        text=outcome.text,
    )


def _code(outcome: TurnOutcome) -> ErrorCode:
    if outcome.error is not None:
        return outcome.error.code
    return ErrorCode.AGENT_CRASHED if outcome.host_lost else ErrorCode.PERMISSION_DENIED


def _what_happened(outcome: TurnOutcome) -> str:
    if outcome.error is not None:
        return outcome.error.message
    if outcome.host_lost:
        return LOST_HOST
    if outcome.unanswered_requests:
        return f"Not answered, because no terminal is attached: {'; '.join(outcome.unanswered_requests)}"
    return "The turn was stopped."


def _explain_unanswered(outcome: TurnOutcome, chosen: SelectedSession) -> None:
    unasked = "; ".join(map(clean_line, outcome.unanswered_requests))
    print(f"portico: not answered, because no terminal is attached: {unasked}", file=sys.stderr)
    print(f"  {_hint(outcome, chosen)}", file=sys.stderr)


def _hint(outcome: TurnOutcome, chosen: SelectedSession) -> str:
    if outcome.host_lost:
        return lost_host_hint(chosen.session_id)
    if outcome.declined and not outcome.unanswered:
        return "Run it in a terminal to answer the agent's questions, or use portico chat."
    return "Allow it with a rule, such as --allow edit or --allow 'execute:pytest*', or run it in a terminal."


def _read_prompt(word: str) -> str:
    if word != "-":
        return require_utf8(word, "The prompt")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"The prompt on standard input is not UTF-8: {error}") from error


def _write_out(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
