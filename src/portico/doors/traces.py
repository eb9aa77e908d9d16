"""A trace as one JSON object, for programs: what the frames mean, in the words of the drawing."""

import msgspec
from msgspec import Raw

from portico.conductor.tracing.reading import TracedChain, TraceFile, Unreadable
from portico.conductor.tracing.records import Closed, Direction, Faulted, Passed
from portico.conductor.tracing.steps import Follower, Kind, Step
from portico.conductor.watching import Gone
from portico.domain.events import format_time
from portico.doors.terminal.gist import gist
from portico.rpc.messages import ErrorObject, RequestId


class TracedFrame(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"sender": "from", "receiver": "to", "duration_ms": "durationMs"},
):
    """A frame on one hop. `changed` is what its sender changed in what it had received."""

    line: int
    at: str
    direction: Direction
    sender: str
    receiver: str
    kind: Kind
    id: RequestId = None
    method: str = ""
    session: str | None = None
    duration_ms: int | None = None
    changed: tuple[str, ...] | None = None
    gist: str = ""
    error: ErrorObject | None = None
    frame: Raw | None = None


class TracedFault(msgspec.Struct, frozen=True, kw_only=True, rename={"sender": "from"}):
    line: int
    at: str
    sender: str
    kind: str
    detail: str
    sample: str


class ShownChain(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    number: int
    started_at: str
    links: tuple[str, ...]
    frames: tuple[TracedFrame, ...]
    faults: tuple[TracedFault, ...]
    gone: Gone | None
    """Who ended it; none if the trace ends before."""


class ShownTrace(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    chains: tuple[ShownChain, ...]
    unreadable: tuple[Unreadable, ...]


def trace_object(
    file: TraceFile, chains: tuple[TracedChain, ...], *, full: bool, lines: frozenset[int] | None
) -> str:
    """The object for `--api`. `full` has the frames themselves in it, `lines` limits it to some of the file."""
    shown = ShownTrace(
        chains=tuple(_chain(file, chain, full=full, lines=lines) for chain in chains),
        unreadable=file.unreadable,
    )
    return msgspec.json.encode(shown).decode()


def _chain(file: TraceFile, chain: TracedChain, *, full: bool, lines: frozenset[int] | None) -> ShownChain:
    follower = Follower()
    frames: list[TracedFrame] = []
    faults: list[TracedFault] = []
    gone: Gone | None = None
    for number, record in file.records(chain):
        match record:
            case Passed():
                step = follower.take(number, record)
                if lines is None or number in lines:
                    frames.append(_frame(step, full=full))
            case Faulted() if lines is None:
                faults.append(
                    TracedFault(
                        line=number,
                        at=record.at,
                        sender=record.sender,
                        kind=record.kind,
                        detail=record.detail,
                        sample=record.sample,
                    )
                )
            case Closed():
                gone = record.gone
            case _:
                pass
    return ShownChain(
        number=chain.number,
        started_at=chain.at,
        links=chain.links,
        frames=tuple(frames),
        faults=tuple(faults),
        gone=gone,
    )


def _frame(step: Step, *, full: bool) -> TracedFrame:
    return TracedFrame(
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
