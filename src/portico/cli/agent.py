"""`portico agent`: Porter, the built-in agent, as an ACP agent on standard input and output.

Editors start this for every session, so nothing is imported that `initialize` does not need.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from portico.chains.taps import file_tap
from portico.config.paths import state_folder
from portico.porter.agent import Porter
from portico.porter.model_preload import is_preloading
from portico.porter.setup import PorterSetup
from portico.rpc.stdio import standard_streams


def run(arguments: Sequence[str]) -> int:
    state = _state(arguments)
    if state is None:
        return 0
    if sys.stdin.isatty():
        print(
            "Porter is waiting for an ACP client on standard input. To talk to it: portico chat",
            file=sys.stderr,
        )
    try:
        asyncio.run(_serve(state))
    except KeyboardInterrupt:
        return 1
    if is_preloading():
        # Finalizing the interpreter under a thread that imports extension modules can abort the process.
        os._exit(0)
    return 0


def _state(arguments: Sequence[str]) -> Path | None:
    """The folder for sessions."""
    if not arguments:
        return state_folder(os.environ)
    from portico.cli.arguments import CommandParser

    parser = CommandParser(
        "agent", "Porter, the built-in agent. It speaks ACP on standard input and output; editors start it."
    )
    parser.add_argument(
        "--state", metavar="DIR", type=Path, help="folder for sessions (default: the state folder)"
    )
    given = parser.parse(arguments).state
    return state_folder(os.environ) if given is None else given.absolute()


async def _serve(state: Path) -> None:
    stream = await standard_streams()
    porter = Porter(
        stream,
        state=state,
        environ=dict(os.environ),
        tap=file_tap(os.environ, "porter", "agent"),
        setup_of=_setup,
    )
    serving = asyncio.ensure_future(porter.run())
    if sys.platform != "win32":
        # On SIGTERM, end the running turn first so that its last output is sent.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        return


def _setup(workspace: Path) -> PorterSetup:
    from portico.app.porter_setup import read_setup

    return read_setup(workspace, os.environ)
