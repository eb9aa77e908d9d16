"""A program that has imported Portico and forks at each start, which then has nothing left to import.

It has one thread, as a program that forks should. An order is its length and JSON, with descriptors for standard
input, output and error. The answers are numbers of four bytes: the id of the process and, when that has ended, its
exit code. Before all of them comes a zero, when everything is imported.
"""

import gc
import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path

import portico

# Commands that tests start often.
COMMANDS = (
    *("exec", "sessions", "review", "checkpoints", "prompts", "agents", "approvals"),
    *("serve", "stop", "status", "models", "auth", "trace", "schema", "doctor"),
    *("packages", "config", "eval", "skills", "components"),
)
_COMPONENTS = sorted((Path(portico.__file__).parent / "components").glob("*/component.py"))
# Those, and what they import when they are under way.
IMPORTED = (
    *(f"portico.cli.{name}" for name in COMMANDS),
    *(f"portico.components.{file.parent.name}.component" for file in _COMPONENTS),
    "ctypes",
    "encodings.idna",
    "portico.chains.review_proxies",
    "portico.cli.failure_output",
    "portico.conductor.mcp_bridge.routes",
    "portico.processes.stdio_shim",
    "portico.doors.terminal.render.plain_renderer",
    "portico.doors.terminal.render.session_table",
    "portico.sandbox.backends",
)


def heard(line: socket.socket) -> int:
    return int.from_bytes(line.recv(4), "big", signed=True)


def serve(line: socket.socket) -> int:
    """Runs until the caller is gone, or in a new process: its exit code."""
    while True:
        length, streams, _, _ = socket.recv_fds(line, 4, 3)
        if not length:
            return 0
        order = line.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
        process = os.fork()
        if process == 0:
            line.close()
            return _run(order, streams)
        for descriptor in streams:
            os.close(descriptor)
        _tell(line, process)
        _, status = os.waitpid(process, 0)
        _tell(line, os.waitstatus_to_exitcode(status))


def _run(order: bytes, streams: list[int]) -> int:
    """Run of the program from its first line on, in its own folder and environment."""
    from portico.cli.main import main

    wanted = json.loads(order)
    for place, descriptor in enumerate(streams):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environ"])
    return main(wanted["words"])


def _tell(line: socket.socket, number: int) -> None:
    line.sendall(number.to_bytes(4, "big", signed=True))


if __name__ == "__main__":
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()  # No fork looks through what all of them share.
    line = socket.socket(fileno=int(sys.argv[1]))
    _tell(line, 0)
    sys.exit(serve(line))
