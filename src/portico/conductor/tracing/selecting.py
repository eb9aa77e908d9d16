"""Which lines of a trace are about one session."""

from collections.abc import Iterable

import msgspec

from portico.conductor.tracing.reading import TracedChain, TraceFile
from portico.conductor.tracing.records import Passed
from portico.conductor.tracing.steps import Follower
from portico.domain.errors import SessionNotFound


class Selection(msgspec.Struct, frozen=True):
    """Some chains, and the numbers of some lines in the file."""

    chains: tuple[TracedChain, ...]
    lines: frozenset[int]


def about_session(file: TraceFile, chains: Iterable[TracedChain], wanted: str) -> Selection:
    """What is about a session, also the request that opened it. A unique beginning of its id will do.

    SessionNotFound if there is none such, or more than one.
    """
    lines: dict[str, set[int]] = {}
    where: dict[str, dict[int, TracedChain]] = {}
    for chain in chains:
        follower = Follower()
        for number, record in file.records(chain):
            if isinstance(record, Passed):
                step = follower.take(number, record)
                if step.session is not None:
                    about = lines.setdefault(step.session, set())
                    about.add(number)
                    about.update({step.asked_in} if step.asked_in is not None else ())
                    where.setdefault(step.session, {})[chain.number] = chain
    found = [wanted] if wanted in lines else [name for name in lines if name.startswith(wanted)]
    if len(found) == 1:
        return Selection(tuple(where[found[0]].values()), frozenset(lines[found[0]]))
    known = ", ".join(lines) or "none"
    raise SessionNotFound(
        f"The trace {'has no session' if not found else 'has more than one session that begins with'} {wanted!r}.",
        suggestion=f"It has: {known}.",
    )
