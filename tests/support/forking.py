"""A program that has imported Portico and forks at each start, which then has nothing left to import.

It has one thread, as whoever forks should. An order is JSON, with descriptors for standard output and standard error;
the answers are numbers of four bytes: the id of the process and, when that has ended, its exit code. Before all of
them comes a zero, when everything is imported.
"""

import json
import os
import socket
import sys
from importlib import import_module

# The command, and what it imports when it is under way.
IMPORTED = ("portico.cli.exec", "portico.cli.editor_reviews")


def heard(line: socket.socket) -> int:
    return int.from_bytes(line.recv(4), "big", signed=True)


def serve(line: socket.socket) -> int:
    """Until nobody is there any more, or in a new process: its exit code."""
    while True:
        order, streams, _, _ = socket.recv_fds(line, 1 << 16, 2)
        if not order:
            return 0
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
    """What the program does from its first line on, in its own folder and surroundings."""
    from portico.cli.main import main

    wanted = json.loads(order)
    for place, descriptor in enumerate(streams, start=1):
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
    line = socket.socket(fileno=int(sys.argv[1]))
    _tell(line, 0)
    sys.exit(serve(line))
