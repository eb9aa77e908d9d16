"""Events for the tests of the log, and a way round the store to the file behind it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from portico.domain.events import AnyPayload, Event, SessionStarted, TextDelta
from portico.domain.ids import SessionId, TurnId

AT = 1_700_000_000_000
ALPHA = SessionId("alpha")
BETA = SessionId("beta")


def event(session_id: SessionId, seq: int, payload: AnyPayload, *, at: int | None = None) -> Event:
    turn_id = None if isinstance(payload, SessionStarted) else TurnId("t1")
    return Event(
        session_id=session_id, seq=seq, turn_id=turn_id, at=AT + seq if at is None else at, payload=payload
    )


def started(session_id: SessionId = ALPHA, *, workspace: str = "/work", at: int | None = None) -> Event:
    return event(session_id, 1, opening(workspace), at=at)


def opening(workspace: str, *, agent: str = "porter", agent_command: tuple[str, ...] = ()) -> SessionStarted:
    return SessionStarted(
        workspace=workspace,
        agent=agent,
        agent_command=agent_command,
        continued=False,
        mode="direct",
        portico_version="1",
    )


def deltas(session_id: SessionId, first: int, count: int, *, text: str = "word ") -> list[Event]:
    return [event(session_id, seq, TextDelta(text=f"{text}{seq}")) for seq in range(first, first + count)]


def session(session_id: SessionId = ALPHA, *, length: int) -> list[Event]:
    return [started(session_id), *deltas(session_id, 2, length - 1)]


def lay_down(folder: Path, content: bytes) -> None:
    """Put a file where the store will look for its own."""
    folder.mkdir()
    (folder / "portico.db").write_bytes(content)


def bytes_left(folder: Path, name: str = "portico.db") -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob(f"{name}*"))


def modes(folder: Path) -> dict[str, int]:
    """Permissions of a folder and everything inside it."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777
        for path in (folder, *folder.rglob("*"))
    }


@contextmanager
def raw_file(folder: Path) -> Iterator[sqlite3.Connection]:
    """The store's file as any other program would open it; each statement commits by itself."""
    with closing(sqlite3.connect(folder / "portico.db", isolation_level=None, timeout=5)) as connection:
        yield connection
