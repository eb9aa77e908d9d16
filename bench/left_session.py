"""Idle sessions, written into the log before a server opens it, so that they need not be streamed."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from bench.speaker import AGENT
from portico import __version__
from portico.domain.events import AnyPayload, Event, PromptSubmitted, SessionStarted, TitleUpdated
from portico.domain.ids import SessionId, make_turn_id
from portico.store.sqlite import SqliteStore

# What stands in the log before anything is said.
OPENING = 3
_BATCH = 1_000


async def leave_session(home: Path, workspace: Path, title: str, said: Iterable[AnyPayload]) -> None:
    """One turn in the Portico home, in which so much was said."""
    state = home / "state"
    state.mkdir(parents=True, exist_ok=True)
    store = SqliteStore(state)
    await store.open()
    try:
        events = _events(workspace, title, said)
        while batch := list(islice(events, _BATCH)):
            await store.append(batch, durable=False)
    finally:
        await store.close()


def _events(workspace: Path, title: str, said: Iterable[AnyPayload]) -> Iterator[Event]:
    session = SessionId(f"left-{title.replace(' ', '-')}")
    for seq, payload in enumerate(chain(_opening(workspace, title), said), start=1):
        turn_id = make_turn_id(1) if seq >= OPENING else None
        yield Event(session_id=session, seq=seq, turn_id=turn_id, at=seq, payload=payload)


def _opening(workspace: Path, title: str) -> Iterator[AnyPayload]:
    yield SessionStarted(
        workspace=str(workspace), agent=AGENT, continued=False, mode="direct", portico_version=__version__
    )
    yield TitleUpdated(title=title)
    yield PromptSubmitted(text="Go on.")
