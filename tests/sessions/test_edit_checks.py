"""Problems that tool calls add and remove, as a language server finds them beside the turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from portico.domain.events import AnyPayload, ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.ids import TurnId
from portico.domain.values import DiffPart
from portico.sessions.code_servers import CodeServers, CodeTree
from portico.sessions.content.edit_checks import EditChecks, undo_diffs
from tests.editors.language_servers.support import Workspace, scripted, workspace
from tests.support.waiting import eventually

TURN = TurnId("t1")


class Session:
    """A session in a folder whose texts the scripted server checks: each BAD is a problem."""

    def __init__(self, here: Workspace) -> None:
        self.here = here
        self.told: list[tuple[TurnId | None, AnyPayload]] = []
        self.covered = False
        self.checks = EditChecks(self._open, lambda payload, turn: self.told.append((turn, payload)))

    async def _open(self) -> tuple[CodeServers, CodeTree] | None:
        return None if self.covered else (self.here.servers, self.here.tree)

    def edit(self, tool_id: str, *diffs: DiffPart, success: bool = True) -> None:
        started = ToolStarted(tool_id=tool_id, title="Edit", tool_kind="edit", status="in_progress")
        self.checks.note(started, TURN)
        self.checks.note(ToolUpdated(tool_id=tool_id, content=diffs), TURN)
        self.checks.note(ToolCompleted(tool_id=tool_id, success=success, duration_ms=1), TURN)

    @property
    def problems(self) -> list[tuple[str, list[str], list[str]]]:
        """Reported problems: the call, and the messages that it added and removed in its last file."""
        updates = [payload for _, payload in self.told if isinstance(payload, ToolUpdated)]
        return [
            (one.tool_id, [each.message for each in file.added], [each.message for each in file.removed])
            for one in updates
            for file in (one.problems or ())[-1:]
        ]


@asynccontextmanager
async def session(tmp_path: Path, home: Path, **options: Any) -> AsyncIterator[Session]:
    async with workspace(tmp_path / "w", home, **scripted(**options)) as here:
        opened = Session(here)
        try:
            yield opened
        finally:
            await opened.checks.close()


@pytest.mark.parametrize("options", [{"pull": True}, {}, {"push": "unversioned"}])
async def test_a_card_gets_what_the_call_added_and_removed(
    options: dict[str, Any], tmp_path: Path, own_home: Path
) -> None:
    async with session(tmp_path, own_home, **options) as one:
        one.here.write("a.txt", "BAD_kept\nBAD_new\n")
        path = str(one.here.folder / "a.txt")
        one.edit("c1", DiffPart(path=path, old_text="BAD_old\n", new_text="BAD_new\n"))
        await one.checks.settled()
        assert one.problems == [("c1", ["BAD_new is bad"], ["BAD_old is bad"])]
        assert one.told[0][0] == TURN
        # The server has the text of the disk again.
        assert await one.here.problems("a.txt") == [(1, "BAD_kept is bad"), (2, "BAD_new is bad")]


async def test_a_new_file_and_several_files_of_one_call(tmp_path: Path, own_home: Path) -> None:
    async with session(tmp_path, own_home) as one:
        for name in ("a.txt", "b.txt", "fine.txt"):
            one.here.write(name, "fine\n" if name == "fine.txt" else f"BAD_{name[0]}\n")
        paths = [str(one.here.folder / name) for name in ("a.txt", "fine.txt", "b.txt")]
        texts = ("BAD_a\n", "fine\n", "BAD_b\n")
        one.edit("c1", *(DiffPart(path=path, new_text=text) for path, text in zip(paths, texts, strict=True)))
        await one.checks.settled()
        assert one.problems == [("c1", ["BAD_a is bad"], []), ("c1", ["BAD_b is bad"], [])]
        last = one.told[-1][1]
        assert isinstance(last, ToolUpdated)
        assert [file.path for file in last.problems or ()] == [paths[0], paths[2]]


async def test_what_cannot_be_told_is_not_told(tmp_path: Path, own_home: Path) -> None:
    async with session(tmp_path, own_home) as one:
        one.here.write("a.txt", "BAD\nBAD\n")
        path = str(one.here.folder / "a.txt")
        one.edit("twice", DiffPart(path=path, old_text="fine", new_text="BAD"))
        one.edit("failed", DiffPart(path=path, old_text="fine\n", new_text="BAD\nBAD\n"), success=False)
        one.edit("outside", DiffPart(path=str(tmp_path / "b.txt"), new_text="BAD"))
        one.edit("gone", DiffPart(path=str(one.here.folder / "c.txt"), old_text="BAD", new_text=""))
        await one.checks.settled()
        one.covered = True
        one.edit("reported", DiffPart(path=path, old_text="fine\n", new_text="BAD\nBAD\n"))
        await one.checks.settled()
        assert one.told == []


async def test_a_server_that_hangs_holds_up_neither_the_turn_nor_the_end_of_the_session(
    tmp_path: Path, own_home: Path
) -> None:
    async with session(tmp_path, own_home, silent_on="initialize") as one:
        one.here.write("a.txt", "BAD\n")
        one.edit("c1", DiffPart(path=str(one.here.folder / "a.txt"), old_text="", new_text="BAD\n"))
        await asyncio.sleep(0)
        await one.checks.close()
        assert one.told == []


async def test_a_question_goes_before_a_check_and_is_about_the_file_as_it_is(
    tmp_path: Path, own_home: Path
) -> None:
    """The server never answers about the text on trial, so the check is under way when the question comes."""
    log = tmp_path / "log"
    async with workspace(tmp_path / "w", own_home, **scripted(silent_about="OLD", log=str(log))) as here:
        here.write("a.txt", "BAD_now\n")
        path = str(here.folder / "a.txt")
        assert await here.problems("a.txt") == [(1, "BAD_now is bad")]
        trial = asyncio.create_task(here.servers.problems_with(here.tree, path, "OLD BAD_old\n"))
        await eventually(partial(asyncio.to_thread, log.read_text), lambda text: "OLD" in text)
        assert await here.problems("a.txt") == [(1, "BAD_now is bad")]
        trial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trial
        assert await here.problems("a.txt") == [(1, "BAD_now is bad")]


@pytest.mark.parametrize(
    ("text", "diffs", "before"),
    [
        ("one\ntwo\n", [("zero\n", "one\ntwo\n")], "zero\n"),
        ("one\ntwo\nthree\n", [("2\n", "two\n")], "one\n2\nthree\n"),
        ("b\nd\n", [("a\n", "b\n"), ("c\n", "d\n")], "a\nc\n"),
        ("new\n", [(None, "new\n")], ""),
        ("two two\n", [("2", "two")], None),
        ("changed since\n", [("1", "one")], None),
        ("kept\n", [("removed", "")], None),
    ],
)
def test_the_text_before_a_call_is_found_by_undoing_its_diffs(
    text: str, diffs: list[tuple[str | None, str]], before: str | None
) -> None:
    parts = [DiffPart(path="a", old_text=old, new_text=new) for old, new in diffs]
    assert undo_diffs(text, parts) == before
