"""Stand-alone program that copies bytes between its standard streams and Portico.

An agent starts it as an MCP server, and a client under test starts it as its agent. Its arguments are the address
of Portico and a token, which may be in the environment instead. It is run as a file, with nothing but the standard library: it starts at once, and neither the workspace nor
the environment of the agent can change what it imports. It ends when either side does.
"""

import os
import socket
import sys
import threading

TOKEN_VARIABLE = "PORTICO_MCP_TOKEN"
UNIX, TCP = "unix:", "tcp:"

_CHUNK = 64 * 1024


def main(arguments: list[str]) -> int:
    """Exit code 0 when the conversation is over, 2 when Portico cannot be reached."""
    try:
        connection = _connect(arguments[0])
        token = arguments[1] if len(arguments) > 1 else os.environ[TOKEN_VARIABLE]
        connection.sendall(token.encode() + b"\n")
    except (OSError, KeyError, IndexError) as error:
        sys.stderr.write(f"The Portico that this program belongs to is gone ({type(error).__name__}).\n")
        return 2
    # A daemon, since a read of standard input may never return and must not keep the process.
    threading.Thread(target=_copy_input, args=(connection,), name="standard input", daemon=True).start()
    try:
        _copy_output(connection)
    except (OSError, KeyboardInterrupt):
        return 0
    return 0


def _connect(address: str) -> socket.socket:
    if address.startswith(UNIX):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address.removeprefix(UNIX))
        return connection
    host, _, port = address.removeprefix(TCP).rpartition(":")
    return socket.create_connection((host, int(port)))


def _copy_input(connection: socket.socket) -> None:
    try:
        while data := os.read(0, _CHUNK):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _copy_output(connection: socket.socket) -> None:
    while data := connection.recv(_CHUNK):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
