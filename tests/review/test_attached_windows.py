"""Review through the windows of the real server side, with a window that answers what it is asked."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from portico.domain.ids import SessionId
from portico.domain.windows import (
    ApplyEdits,
    BufferText,
    ReadBuffer,
    WindowAbilities,
    WindowAttached,
    WindowIntroduction,
    WindowRequest,
)
from portico.editors.window_registry import AttachedWindows
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from portico.testing.windows import MemoryWindow
from tests.review.trees import repository, write

LINES = "".join(f"line {number}\n" for number in range(30))
TYPED = LINES.replace("line 1\n", "typed\n")


@asynccontextmanager
async def attached(windows: AttachedWindows, screen: MemoryWindow) -> AsyncIterator[None]:
    """A window that is open on the folder, and says what is unsaved in it."""
    here = asyncio.Event()

    async def live() -> None:
        introduction = WindowIntroduction(
            name="VS Code", folders=(str(screen.folder),), abilities=WindowAbilities(buffers=True, edits=True)
        )
        editor = ""
        async for update in windows.attach(introduction):
            if isinstance(update, WindowAttached):
                editor = update.editor_id
            elif isinstance(update, WindowRequest):
                session = SessionId(update.session_id)
                match update.question:
                    case ReadBuffer(path=path):
                        answer = BufferText(text=await screen.read(session, path))
                        windows.reply(update.request_id, answer)
                    case ApplyEdits(label=label, files=files):
                        windows.reply(update.request_id, await screen.edit(session, label, files))
                    case _:
                        pass
            windows.update_status(editor, sorted(screen.unsaved()), focused=True)
            here.set()

    task = asyncio.create_task(live(), name="a window")
    try:
        await here.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_proposal_begins_with_what_is_typed_and_is_applied_as_one_edit(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", a__txt=LINES, b__txt="b\n")
    (tmp_path / "link").symlink_to("work")
    screen = MemoryWindow(tmp_path / "link")
    screen.type("a.txt", TYPED)
    clock = ManualClock()
    windows = AttachedWindows(clock, lambda _session, _payload: None)
    reviews = ReviewService.at(tmp_path / "state", os.environ, clock, windows=windows)
    async with asyncio.timeout(30), attached(windows, screen):
        review = await reviews.open("s1", work, "proposal")
        await review.begin_turn("Do it")
        assert (review.folder / "a.txt").read_text() == TYPED
        wanted = TYPED.replace("line 20\n", "twenty\n")
        write(review.folder, {"a.txt": wanted, "b.txt": "bee\n"})
        await review.end_turn()
        (proposal,) = await reviews.proposals("s1")
        outcome = await reviews.apply("s1", proposal.id, proposal.revision)
        assert outcome.proposal.status == "applied"
        assert (screen.text("a.txt"), (work / "b.txt").read_text()) == (wanted, "bee\n")
        assert (work / "a.txt").read_text() == LINES
        screen.undo()
        # The server has not heard yet that b.txt is unsaved by now: the window says so when it is asked.
        undone = await reviews.undo("s1", proposal.id)
        assert (undone.decided.already, undone.proposal.status) == (True, "open")
        assert (screen.text("a.txt"), screen.text("b.txt")) == (TYPED, "b\n")
