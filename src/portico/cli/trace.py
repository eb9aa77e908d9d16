"""`portico trace`: draws or replays a session recorded with `--trace`."""

import argparse
import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from portico.cli.arguments import CommandGroup, positive
from portico.conductor.tracing.reader import TracedChain, TraceFile
from portico.domain.errors import ExitCode, InvalidInput

_EXAMPLES = """examples:
  portico exec --trace session.jsonl "/help"      record a session; acp and chat take --trace too
  portico trace show session.jsonl
  portico exec --agent-command "portico trace replay $PWD/session.jsonl" "/help"

"""


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("trace", "Sessions recorded with --trace.", examples=_EXAMPLES)
    show = group.add("show", "draw a recorded session as a sequence diagram", _show)
    replay = group.add("replay", "act as the recorded agent, in ACP on standard input and output", _replay)
    for parser in (show, replay):
        parser.add_argument("file", metavar="FILE", help="file written by --trace")
        parser.add_argument("--chain", metavar="N", type=positive, help="number of the chain in the file")
    show.add_argument("--session", metavar="ID", help="session to show (ID or unique prefix)")
    show.add_argument("--full", action="store_true", help="every frame in full")
    return group.run(arguments)


def _open(flags: argparse.Namespace) -> tuple[TraceFile, tuple[TracedChain, ...]]:
    file = TraceFile.open(Path(flags.file))
    for line in file.unreadable:
        print(f"portico: line {line.line} of {file.path} cannot be read: {line.problem}", file=sys.stderr)
    return file, _chosen(file, flags.chain)


def _chosen(file: TraceFile, number: int | None) -> tuple[TracedChain, ...]:
    chosen = tuple(chain for chain in file.chains if number in (None, chain.number))
    if not chosen:
        missing = "no chain" if number is None else f"no chain {number}; it has {len(file.chains)}"
        raise InvalidInput(f"The trace {file.path} has {missing}.")
    return chosen


def _show(flags: argparse.Namespace) -> int:
    file, chains = _open(flags)
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


def _replay(flags: argparse.Namespace) -> int:
    if flags.api:
        raise InvalidInput("A replay speaks ACP; --api is for portico trace show.")
    file, chains = _open(flags)
    return asyncio.run(_play(file, chains[-1], os.environ))


async def _play(file: TraceFile, chain: TracedChain, environ: Mapping[str, str]) -> int:
    from portico.chains.taps import file_tap
    from portico.conductor.tracing.exchanges import make_recording
    from portico.conductor.tracing.replay import ReplayAgent
    from portico.rpc.stdio import standard_streams

    if sys.stdin.isatty():
        print(
            "Replaying over ACP; waiting for a client. To look at the trace: portico trace show",
            file=sys.stderr,
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
    print("portico: the recorded agent exited here, so the replay ends.", file=sys.stderr)
    return int(ExitCode.TRANSPORT)
