"""Taps on the wires of a command: every frame to a file, if PORTICO_TAP names a folder for them.

And the trace of its chains, if it was asked for.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from portico.rpc.connection import Tap
from portico.rpc.streams import ByteStream

if TYPE_CHECKING:
    from portico.conductor.tracing.recording import Trace

VARIABLE = "PORTICO_TAP"
_numbers = count(1)


def file_tap(environ: Mapping[str, str], wire: str, role: Literal["client", "agent"]) -> Tap | None:
    """A tap for one connection, named after what is at its other end; `role` is what this side is in ACP."""
    folder = environ.get(VARIABLE)
    if not folder:
        return None
    from portico.rpc.tap import FileTap

    name = "".join(letter if letter.isalnum() else "-" for letter in wire) + f"-{next(_numbers)}"
    path = Path(folder) / f"{os.getpid()}-{role}-{name}.ndjson"
    return FileTap(path, connection=name, role=role, environ=environ)


def tapped(
    stream: ByteStream, environ: Mapping[str, str], wire: str, role: Literal["client", "agent"]
) -> ByteStream:
    """The stream itself, or one that shows a tap what goes through it."""
    tap = file_tap(environ, wire, role)
    if tap is None:
        return stream
    from portico.rpc.tap import TappedStream

    return TappedStream(stream, tap)


@contextmanager
def opened_trace(file: str | None, environ: Mapping[str, str]) -> "Iterator[Trace | None]":
    """The trace that `--trace` names. InvalidInput, before anything starts, if it cannot be written."""
    if file is None:
        yield None
        return
    from portico.cli.arguments import proper_text
    from portico.conductor.tracing.recording import Trace

    path = Path(proper_text(file, "The name of the trace"))
    trace = Trace.open(path, environ, lambda: time.time_ns() // 1_000_000)
    try:
        yield trace
    finally:
        trace.close()
