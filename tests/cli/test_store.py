"""`portico store copy` between two folders."""

from pathlib import Path

import pytest

from portico.domain.events import TextDelta
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, BETA, event, session
from tests.support.program import Portico


async def keep(folder: Path, text: str) -> None:
    """A log whose session went on in its own way."""
    store = SqliteStore(folder)
    await store.open()
    await store.append(session(ALPHA, length=2), durable=True)
    await store.append([event(ALPHA, 3, TextDelta(text=text))], durable=True)
    if text == "here":
        await store.append(session(BETA, length=2), durable=True)
    await store.close()


@pytest.mark.parametrize("flags", [(), ("--api",)], ids=["for people", "for programs"])
async def test_a_session_that_was_left_out_is_named_and_the_command_fails(
    portico: Portico, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    await keep(tmp_path / "from", "here")
    await keep(tmp_path / "to", "elsewhere")
    ran = portico.run("store", "copy", str(tmp_path / "from"), str(tmp_path / "to"), *flags)
    assert ran.code == 2
    said = ran.out.decode() + ran.err
    assert "Sessions copied: 1 (2 events); already there: 0; left out: 1" in said
    assert "session alpha: the target has another session of this id" in said
