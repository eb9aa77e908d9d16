"""`portico stop`: stops the server and waits until it has ended."""

import os
import time
from collections.abc import Sequence

from portico.cli.arguments import CommandParser, seconds
from portico.client.discovery import NoServer, RunningServer, UnprovenServer, find_server
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles
from portico.domain.errors import DeveloperMustAct

STOP_SECONDS = 30.0

_LOOK_AGAIN = 0.05


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("stop", "Stop the server. Running turns are stopped; sessions are kept.")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=STOP_SECONDS,
        help=f"time to wait (default: {STOP_SECONDS:g})",
    )
    flags = parser.parse(arguments)
    stopped = stop_server(ServerFiles(state_folder(dict(os.environ))), deadline=flags.timeout)
    if flags.api:
        print(f'{{"status":"ok","stopped":{"true" if stopped else "false"}}}')
    else:
        print("Stopped." if stopped else "No server is running.")
    return 0


def stop_server(files: ServerFiles, *, deadline: float) -> bool:
    """Ask the server to stop, and wait until it has; False if none runs."""
    until, asked = time.monotonic() + deadline, False
    while not isinstance(found := find_server(files), NoServer):
        if isinstance(found, RunningServer) and not asked:
            asked = found.stop()
        if time.monotonic() > until:
            raise _still_there(found, deadline, asked=asked)
        time.sleep(_LOOK_AGAIN)
    return asked


def _still_there(found: RunningServer | UnprovenServer, deadline: float, *, asked: bool) -> DeveloperMustAct:
    who = found.holder if isinstance(found, UnprovenServer) else f"process {found.record.pid}"
    what = "was asked to stop and has not ended" if asked else "does not answer, so it could not be asked"
    return DeveloperMustAct(
        f"The server ({who}) {what} within {deadline:g} s.",
        suggestion="Wait longer with --timeout, or end the process yourself.",
    )
