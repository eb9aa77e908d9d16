"""Selects the lines of a trace that concern one session."""

from collections.abc import Iterable

import msgspec

from portico.conductor.tracing.reader import TracedChain, TraceFile
from portico.conductor.tracing.records import TraceFrame
from portico.conductor.tracing.steps import TraceFollower
from portico.domain.errors import SessionNotFound


class TraceSelection(msgspec.Struct, frozen=True):
    """Some chains, and the numbers of some lines in the file."""

    chains: tuple[TracedChain, ...]
    lines: frozenset[int]


def select_session(file: TraceFile, chains: Iterable[TracedChain], wanted: str) -> TraceSelection:
    """The records of one session, with the request that opened it. A unique prefix of its id is enough.

    SessionNotFound if there is none such, or more than one.
    """
    lines: dict[str, set[int]] = {}
    where: dict[str, dict[int, TracedChain]] = {}
    for chain in chains:
        follower = TraceFollower()
        for number, record in file.records(chain):
            if isinstance(record, TraceFrame):
                step = follower.take(number, record)
                if step.session is not None:
                    about = lines.setdefault(step.session, set())
                    about.add(number)
                    about.update({step.request_line} if step.request_line is not None else ())
                    where.setdefault(step.session, {})[chain.number] = chain
    found = [wanted] if wanted in lines else [name for name in lines if name.startswith(wanted)]
    if len(found) == 1:
        return TraceSelection(tuple(where[found[0]].values()), frozenset(lines[found[0]]))
    known = ", ".join(lines) or "none"
    raise SessionNotFound(
        f"The trace {'has no session' if not found else 'has more than one session that begins with'} {wanted!r}.",
        suggestion=f"It has: {known}.",
    )
