"""Taps that write the frames of a connection to files, and the trace file that `--trace` names.

And the trace of its chains, if requested.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from portico.rpc.frames import FrameStream, Tap, Transport, as_frames

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import TraceWriter

TAP_FOLDER_VARIABLE = "PORTICO_TAP"
_numbers = count(1)


def file_tap(environ: Mapping[str, str], wire: str, role: Literal["client", "agent"]) -> Tap | None:
    """A tap for one connection, named after what is at its other end; `role` is what this side is in ACP."""
    folder = environ.get(TAP_FOLDER_VARIABLE)
    if not folder:
        return None
    from portico.rpc.tap import FileTap

    name = "".join(letter if letter.isalnum() else "-" for letter in wire) + f"-{next(_numbers)}"
    path = Path(folder) / f"{os.getpid()}-{role}-{name}.ndjson"
    return FileTap(path, connection=name, role=role, environ=environ)


def tap_stream(
    transport: Transport, environ: Mapping[str, str], wire: str, role: Literal["client", "agent"]
) -> FrameStream:
    """The frames of a transport, tapped if the environment says so."""
    frames = as_frames(transport)
    frames.tap = file_tap(environ, wire, role)
    return frames


@contextmanager
def open_trace(path: Path | None, environ: Mapping[str, str]) -> "Iterator[TraceWriter | None]":
    """The trace that `--trace` names. InvalidInput, before anything starts, if it cannot be written."""
    if path is None:
        yield None
        return
    from portico.conductor.tracing.writer import TraceWriter

    trace = TraceWriter.open(path, environ, lambda: time.time_ns() // 1_000_000)
    try:
        yield trace
    finally:
        trace.close()
