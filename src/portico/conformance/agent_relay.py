"""Stand-alone program that a client under test starts as its agent; copies bytes between its standard streams and the kit.

It is run as a file, with nothing but the standard library. It ends when the kit does, or when the client is gone.
"""

import os
import socket
import sys
import threading

_CHUNK = 64 * 1024


def main(arguments: list[str]) -> int:
    """Exit code 0 when the conversation is over, 2 when the kit cannot be reached."""
    port, token = arguments[:2]
    try:
        connection = socket.create_connection(("127.0.0.1", int(port)))
        connection.sendall(token.encode() + b"\n")
    except OSError as error:
        sys.stderr.write(f"The conformance kit is gone ({error}).\n")
        return 2
    # A daemon, since a read of standard input may never return and must not keep the process.
    threading.Thread(target=_copy_input, args=(connection,), name="standard input", daemon=True).start()
    try:
        while data := connection.recv(_CHUNK):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(1, rest) :]
    except (OSError, KeyboardInterrupt):
        return 0
    return 0


def _copy_input(connection: socket.socket) -> None:
    try:
        while data := os.read(0, _CHUNK):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
