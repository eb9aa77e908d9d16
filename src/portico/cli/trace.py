"""`portico trace`: draws or replays a session recorded with `--trace`."""

import argparse
import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from portico.cli.arguments import CommandParser, positive
from portico.conductor.tracing.reader import TracedChain, TraceFile
from portico.domain.errors import ExitCode, InvalidInput

_DESCRIPTION = """A conversation that was written down, drawn or played again.

  portico exec --trace talk.jsonl "/help"         write it down; acp and chat can do that too
  portico trace show talk.jsonl                   draw it as a sequence
  portico exec --agent-command "portico trace replay $PWD/talk.jsonl" "/help"
"""


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("trace", _DESCRIPTION)
    parser.add_argument(
        "action",
        choices=["show", "replay"],
        help="draw it, or be the agent in it on standard input and output",
    )
    parser.add_argument("file", metavar="FILE", help="what --trace wrote")
    parser.add_argument("--chain", metavar="N", type=positive, help="of several chains in the file, this one")
    parser.add_argument("--session", metavar="ID", help="show one session; a unique beginning will do")
    parser.add_argument("--full", action="store_true", help="show every frame, and all of it")
    flags = parser.parse_args(arguments)
    file = TraceFile.open(Path(flags.file))
    for line in file.unreadable:
        print(f"portico: line {line.line} of {file.path} cannot be read: {line.problem}", file=sys.stderr)
    chains = _chosen(file, flags.chain)
    if flags.action == "show":
        return _show(file, chains, flags)
    if flags.api or flags.session or flags.full:
        raise InvalidInput("A replay speaks ACP; --api, --session and --full are for portico trace show.")
    return asyncio.run(_replay(file, chains[-1], dict(os.environ)))


def _chosen(file: TraceFile, number: int | None) -> tuple[TracedChain, ...]:
    chosen = tuple(chain for chain in file.chains if number in (None, chain.number))
    if not chosen:
        missing = "no chain" if number is None else f"no chain {number}; it has {len(file.chains)}"
        raise InvalidInput(f"The trace {file.path} has {missing}.")
    return chosen


def _show(file: TraceFile, chains: tuple[TracedChain, ...], flags: argparse.Namespace) -> int:
    lines = None
    if flags.session:
        from portico.conductor.tracing.session_filter import select_session

        selection = select_session(file, chains, flags.session)
        chains, lines = selection.chains, selection.lines
    if flags.api:
        from portico.doors.trace_json import trace_object

        print(trace_object(file, chains, full=flags.full, lines=lines))
        return 0
    from portico.doors.terminal.trace.printer import show_trace

    show_trace(
        file,
        chains,
        sys.stdout,
        term=os.environ.get("TERM", ""),
        columns=shutil.get_terminal_size().columns,
        full=flags.full,
        lines=lines,
    )
    return 0


async def _replay(file: TraceFile, chain: TracedChain, environ: Mapping[str, str]) -> int:
    from portico.app.taps import file_tap
    from portico.conductor.tracing.exchanges import make_recording
    from portico.conductor.tracing.replay import ReplayAgent
    from portico.rpc.stdio import standard_streams

    if sys.stdin.isatty():
        print(
            "A replay speaks ACP here and waits for a client. To see it: portico trace show", file=sys.stderr
        )
    recording = make_recording(record for _, record in file.records(chain))
    stream = await standard_streams()
    playing = asyncio.ensure_future(
        ReplayAgent(recording, stream, tap=file_tap(environ, "replay", "agent")).run()
    )
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)
    try:
        if await playing:
            return 0
    except asyncio.CancelledError:
        return 0
    print("portico: the recorded agent ended here, and so does its replay.", file=sys.stderr)
    return int(ExitCode.TRANSPORT)
