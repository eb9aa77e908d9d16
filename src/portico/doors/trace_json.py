"""JSON form of a trace, as `portico trace --api` prints it."""

import msgspec
from msgspec import Raw

from portico.conductor.observer import ClosedBy
from portico.conductor.tracing.reader import TracedChain, TraceFile, UnreadableLine
from portico.conductor.tracing.records import ChainClosed, ChainDirection, TraceFault, TraceFrame
from portico.conductor.tracing.steps import FrameKind, TraceFollower, TraceStep
from portico.domain.timestamps import format_time
from portico.doors.terminal.trace.frame_summary import gist
from portico.rpc.messages import ErrorObject, RequestId


class FrameObject(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"sender": "from", "receiver": "to", "duration_ms": "durationMs"},
):
    """A frame on one hop. `changed` lists what its sender changed."""

    line: int
    at: str
    direction: ChainDirection
    sender: str
    receiver: str
    kind: FrameKind
    id: RequestId = None
    method: str = ""
    session: str | None = None
    duration_ms: int | None = None
    changed: tuple[str, ...] | None = None
    gist: str = ""
    error: ErrorObject | None = None
    frame: Raw | None = None


class FaultObject(msgspec.Struct, frozen=True, kw_only=True, rename={"sender": "from"}):
    line: int
    at: str
    sender: str
    kind: str
    detail: str
    sample: str


class ChainObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    number: int
    started_at: str
    links: tuple[str, ...]
    frames: tuple[FrameObject, ...]
    faults: tuple[FaultObject, ...]
    gone: ClosedBy | None
    """The node that ended it; None if the trace ends before."""


class TraceObject(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    chains: tuple[ChainObject, ...]
    unreadable: tuple[UnreadableLine, ...]


def trace_object(
    file: TraceFile, chains: tuple[TracedChain, ...], *, full: bool, lines: frozenset[int] | None
) -> str:
    """The object for `--api`. `full` includes the frames, `lines` selects a part of the file."""
    shown = TraceObject(
        chains=tuple(_chain(file, chain, full=full, lines=lines) for chain in chains),
        unreadable=file.unreadable,
    )
    return msgspec.json.encode(shown).decode()


def _chain(file: TraceFile, chain: TracedChain, *, full: bool, lines: frozenset[int] | None) -> ChainObject:
    follower = TraceFollower()
    frames: list[FrameObject] = []
    faults: list[FaultObject] = []
    gone: ClosedBy | None = None
    for number, record in file.records(chain):
        match record:
            case TraceFrame():
                step = follower.take(number, record)
                if lines is None or number in lines:
                    frames.append(_frame(step, full=full))
            case TraceFault() if lines is None:
                faults.append(
                    FaultObject(
                        line=number,
                        at=record.at,
                        sender=record.sender,
                        kind=record.kind,
                        detail=record.detail,
                        sample=record.sample,
                    )
                )
            case ChainClosed():
                gone = record.gone
            case _:
                pass
    return ChainObject(
        number=chain.number,
        started_at=chain.at,
        links=chain.links,
        frames=tuple(frames),
        faults=tuple(faults),
        gone=gone,
    )


def _frame(step: TraceStep, *, full: bool) -> FrameObject:
    return FrameObject(
        line=step.line,
        at=format_time(step.at),
        direction=step.direction,
        sender=step.sender,
        receiver=step.receiver,
        kind=step.kind,
        id=step.id,
        method=step.method,
        session=step.session,
        duration_ms=step.duration,
        changed=step.changed,
        gist=gist(step),
        error=step.error,
        frame=step.frame if full else None,
    )
