"""Writes the messages of a chain to a trace file that only its owner can read.

A file that cannot be written is refused before anything starts. A disk that fills up later ends the trace,
never the conversation.
"""

import logging
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw

from portico import __version__
from portico.conductor.observer import ChainSide, ClosedBy
from portico.conductor.tracing.records import (
    AGENT,
    CONDUCTOR,
    EDITOR,
    ChainClosed,
    ChainDirection,
    ChainOpened,
    ProgramFrame,
    TraceFault,
    TraceFrame,
    TraceRecord,
    TraceStarted,
    link_names,
)
from portico.conductor.tracing.redaction import FrameRedactor
from portico.domain.errors import InvalidInput
from portico.domain.timestamps import format_time
from portico.rpc.frames import Direction as WireDirection
from portico.rpc.frames import Tap
from portico.rpc.messages import Fault, Message, decode_frame

log = logging.getLogger(__name__)

_OWNER_ONLY = 0o600
_FIRST_WORDS = b'{"type":"trace"'


class TraceWriter:
    """One file, and every chain of this process that is written there. Made by `Trace.open`."""

    def __init__(self, path: Path, descriptor: int, hider: FrameRedactor, now_ms: Callable[[], int]) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._hider = hider
        self._now_ms = now_ms

    @classmethod
    def open(cls, path: Path, environ: Mapping[str, str], now_ms: Callable[[], int]) -> "TraceWriter":
        """Add to a trace, or begin one. InvalidInput if that cannot be done; another file is never touched."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _binary(), _OWNER_ONLY)
        except OSError as error:
            raise _unwritable(path, error) from error
        trace = cls(path, descriptor, FrameRedactor(environ), now_ms)
        try:
            _check_is_ours(path, descriptor)
            trace.put(_line(TraceStarted(at=trace.now(), portico=__version__)))
        except OSError as error:
            trace.close()
            raise _unwritable(path, error) from error
        except InvalidInput:
            trace.close()
            raise
        return trace

    def learn(self, environ: Mapping[str, str]) -> None:
        """Hide the secrets of another environment too."""
        self._hider.learn(environ)

    def chain(self) -> "ChainTrace":
        """For one chain that is about to be built."""
        return ChainTrace(self, self._hider)

    def now(self) -> str:
        return format_time(self._now_ms())

    def write(self, record: TraceRecord) -> None:
        if self._descriptor is None:
            return
        try:
            self.put(_line(record))
        except OSError as error:
            log.warning("the trace %s is not complete: %s", self._path, error.strerror)
            self.close()

    def put(self, data: bytes) -> None:
        """Write all of it. OSError if the disk will not have it."""
        assert self._descriptor is not None
        while data:
            data = data[os.write(self._descriptor, data) :]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class ChainTrace:
    """Looks on at one chain and writes down what it sees."""

    def __init__(self, trace: TraceWriter, hider: FrameRedactor) -> None:
        self._trace = trace
        self._hider = hider
        self._id = os.urandom(4).hex()
        self._links: tuple[str, ...] = (EDITOR, AGENT)

    def learn(self, environ: Mapping[str, str]) -> None:
        """Hide the secrets that one of its programs is started with."""
        self._hider.learn(environ)

    def opened(self, nodes: Sequence[str]) -> None:
        self._links = link_names(nodes)
        self._trace.write(ChainOpened(at=self._trace.now(), chain=self._id, links=self._links))

    def passed(self, message: Message, sender: int | None, receiver: int | None) -> None:
        record = TraceFrame(
            at=self._trace.now(),
            chain=self._id,
            direction=_direction(sender, receiver),
            sender=self._name(sender),
            receiver=self._name(receiver),
            frame=self._hider.frame(message.line),
        )
        self._trace.write(record)

    def fault(self, side: ChainSide, fault: Fault) -> None:
        record = TraceFault(
            at=self._trace.now(),
            chain=self._id,
            sender=EDITOR if side == "client" else AGENT,
            kind=fault.kind,
            detail=self._hider.sample(fault.detail),
            sample=self._hider.sample(fault.sample),
            size=fault.size,
        )
        self._trace.write(record)

    def closed(self, gone: ClosedBy) -> None:
        self._trace.write(ChainClosed(at=self._trace.now(), chain=self._id, gone=gone))

    def wire(self, link: str) -> Tap:
        """For the connection to a proxy that is a program."""

        def tap(direction: WireDirection, data: bytes) -> None:
            if isinstance(fault := decode_frame(data), Fault):
                frame = Raw(msgspec.json.encode(self._hider.sample(fault.sample)))
            else:
                frame = self._hider.frame(data)
            self._trace.write(
                ProgramFrame(
                    at=self._trace.now(), chain=self._id, link=link, direction=direction, frame=frame
                )
            )

        return tap

    def _name(self, link: int | None) -> str:
        return CONDUCTOR if link is None else self._links[link]


def _direction(sender: int | None, receiver: int | None) -> ChainDirection:
    if sender is None:
        return "to_editor" if receiver == 0 else "to_agent"
    return "to_agent" if sender == 0 or (receiver is not None and sender < receiver) else "to_editor"


def _line(record: TraceRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _binary() -> int:
    """Windows would change line ends otherwise."""
    return getattr(os, "O_BINARY", 0)


def _check_is_ours(path: Path, descriptor: int) -> None:
    """Make a trace private, and whole up to its last line. InvalidInput if the file is something else."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise _refused(path, "it is not a file")
    if status.st_size:
        os.lseek(descriptor, 0, os.SEEK_SET)
        if os.read(descriptor, len(_FIRST_WORDS)) != _FIRST_WORDS:
            raise _refused(path, "it exists and is not a trace")
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, _OWNER_ONLY)
    if status.st_size:
        os.lseek(descriptor, -1, os.SEEK_END)
        if os.read(descriptor, 1) != b"\n":
            os.write(descriptor, b"\n")


def _unwritable(path: Path, error: OSError) -> InvalidInput:
    return _refused(path, error.strerror or str(error))


def _refused(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(
        f"The trace {path} cannot be written: {reason}.",
        suggestion="Give --trace a new file, in a folder that exists and that you may write to.",
    )
