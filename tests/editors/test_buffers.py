"""Files of a session where a window is attached: unsaved texts are read and changed there, all others on the disk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, PermissionDenied, WindowLost
from portico.domain.events import Notice
from portico.domain.windows import (
    ApplyEdits,
    BufferText,
    ReadBuffer,
    WindowAbilities,
    WindowAction,
    WindowEditResult,
    WindowFailure,
    WindowResult,
)
from portico.editors.buffers import AttachedEditorProvider, BufferedFiles
from portico.editors.local import LocalEditorProvider
from portico.editors.window import READ_SECONDS
from portico.sessions.ports import EditorFiles
from tests.editors.windows import EVERYTHING, SESSION, Desk, Played


class Place:
    """A workspace, its files as a session has them, and the window on it."""

    def __init__(self, desk: Desk, folder: Path, played: Played) -> None:
        self.desk = desk
        self.folder = folder
        self.played = played
        self.buffers: dict[str, str] = {}
        editors = AttachedEditorProvider(LocalEditorProvider({}), desk.windows, desk.tell)
        files = editors.open(folder, session_id=SESSION).files
        assert isinstance(files, BufferedFiles)
        self.files: EditorFiles = files
        played.answers = self.answer

    def type(self, name: str, text: str) -> None:
        """The person writes, and does not save."""
        self.buffers[str(self.folder / name)] = text
        self.played.update_status(*map(Path, self.buffers))

    def answer(self, question: WindowAction) -> WindowResult | None:
        match question:
            case ReadBuffer(path=path):
                return BufferText(text=self.buffers.get(path))
            case ApplyEdits(files=(edit,)):
                if self.buffers[edit.path] != edit.expected:
                    return WindowEditResult(applied=False, changed=(edit.path,))
                self.buffers[edit.path] = edit.content or ""
                return WindowEditResult(applied=True)
            case _:
                return None

    def disk(self, name: str) -> str:
        return (self.folder / name).read_text()

    @property
    def notices(self) -> list[str]:
        return [one.text for one in self.desk.told if isinstance(one, Notice)]


@asynccontextmanager
async def place(tmp_path: Path, abilities: WindowAbilities = EVERYTHING) -> AsyncIterator[Place]:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("saved\n")
    (folder / "b.txt").write_text("also saved\n")
    desk = Desk()
    async with desk.window(folder, abilities=abilities) as played:
        yield Place(desk, folder, played)


class TestReading:
    async def test_an_unsaved_text_is_what_the_agent_reads(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            assert await here.files.read_text("a.txt") == "saved\n"
            here.type("a.txt", "one\ntwo\nthree\n")
            assert await here.files.read_text("a.txt") == "one\ntwo\nthree\n"
            assert await here.files.read_text(str(here.folder / "a.txt"), line=2, limit=1) == "two\n"
            assert await here.files.read_text("b.txt") == "also saved\n"
            assert len(here.desk.outcomes) == 2

    async def test_a_file_saved_just_now_is_read_from_the_disk(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            here.type("a.txt", "typed\n")
            here.buffers.clear()
            assert await here.files.read_text("a.txt") == "saved\n"
            assert here.notices == []

    async def test_a_file_that_is_not_on_the_disk_yet_has_a_text_all_the_same(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            here.type("new.txt", "typed\n")
            assert await here.files.read_text("new.txt") == "typed\n"

    async def test_an_unsaved_file_is_known_by_a_link_to_it_too(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            (here.folder / "link.txt").symlink_to(here.folder / "a.txt")
            here.type("a.txt", "typed\n")
            assert await here.files.read_text("link.txt") == "typed\n"
            here.buffers.clear()
            here.type("link.txt", "typed by the link\n")
            assert await here.files.read_text("link.txt") == "typed by the link\n"

    async def test_a_silent_window_costs_a_notice_once_and_the_disk_is_read(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            here.type("a.txt", "typed\n")
            here.played.answers = lambda _: None
            for _ in range(2):
                asked = asyncio.create_task(here.files.read_text("a.txt"))
                await here.desk.clock.until_sleeping()
                await here.desk.clock.advance(READ_SECONDS)
                assert await asked == "saved\n"
            (notice,) = here.notices
            assert notice.startswith(
                "The agent read a.txt as it is on the disk, without your unsaved changes. "
            )
            assert notice.endswith("The VS Code window did not answer within 5 s.")
            here.played.answers = here.answer
            assert await here.files.read_text("a.txt") == "typed\n"
            here.played.answers = lambda _: WindowFailure(message="It is being closed.")
            assert await here.files.read_text("a.txt") == "saved\n"
            assert len(here.notices) == 2

    async def test_secrets_and_files_outside_stay_refused_however_open_they_are(self, tmp_path: Path) -> None:
        (tmp_path / "outside.txt").write_text("mine")
        async with place(tmp_path) as here:
            here.type(".env", "PASSWORD=x")
            here.type("../outside.txt", "mine, changed")
            here.played.update_status(tmp_path / "outside.txt", here.folder / ".env")
            for path in (".env", "../outside.txt", str(tmp_path / "outside.txt")):
                with pytest.raises(PermissionDenied):
                    await here.files.read_text(path)
                with pytest.raises(PermissionDenied):
                    await here.files.write_text(path, "x")
            assert here.desk.outcomes == []

    async def test_a_window_without_buffers_is_not_asked_for_any(self, tmp_path: Path) -> None:
        async with place(tmp_path, WindowAbilities(lookups=True)) as here:
            here.type("a.txt", "typed\n")
            assert await here.files.read_text("a.txt") == "saved\n"
            assert here.desk.outcomes == []

    async def test_a_session_in_a_tree_of_its_own_reads_what_is_there(self, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        tree.mkdir()
        (tree / "a.txt").write_text("in the tree\n")
        async with place(tmp_path) as here:
            here.type("a.txt", "typed\n")
            editors = AttachedEditorProvider(LocalEditorProvider({}), here.desk.windows, here.desk.tell)
            files = editors.open(here.folder, folder=tree, session_id=SESSION).files
            assert files is not None
            assert await files.read_text(str(tree / "a.txt")) == "in the tree\n"
            assert here.desk.outcomes == []


class TestWriting:
    async def test_an_unsaved_file_is_changed_where_it_is_open_and_stays_unsaved(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            here.type("a.txt", "typed\n")
            await here.files.read_text("a.txt", line=1, limit=1)
            await here.files.write_text("a.txt", "agent\n")
            await here.files.write_text("a.txt", "agent again\n")
            assert here.buffers == {str(here.folder / "a.txt"): "agent again\n"}
            assert here.disk("a.txt") == "saved\n"
            assert here.desk.outcomes[1:] == [("Portico: change a.txt", True, None)] * 2

    async def test_a_saved_file_is_changed_on_the_disk(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            here.type("a.txt", "typed\n")
            await here.files.write_text("b.txt", "agent\n")
            assert here.disk("b.txt") == "agent\n"
            assert here.desk.outcomes == []

    async def test_unsaved_work_that_the_agent_has_not_seen_is_never_overwritten(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            await here.files.read_text("a.txt")
            here.type("a.txt", "typed\n")
            with pytest.raises(InvalidInput, match="Read it first"):
                await here.files.write_text("a.txt", "agent\n")
            await here.files.read_text("a.txt")
            here.type("a.txt", "typed more\n")
            for _ in range(2):
                with pytest.raises(InvalidInput, match="Read it"):
                    await here.files.write_text("a.txt", "agent\n")
            assert here.buffers[str(here.folder / "a.txt")] == "typed more\n"
            assert here.disk("a.txt") == "saved\n"

    async def test_a_window_that_fails_leaves_the_disk_alone_and_says_what_to_do(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            here.type("a.txt", "typed\n")
            await here.files.read_text("a.txt")
            here.played.answers = lambda _: WindowFailure(message="The file is read-only.")
            with pytest.raises(InvalidInput, match=r"read-only\. Ask the person to save or discard"):
                await here.files.write_text("a.txt", "agent\n")
            here.played.answers = lambda _: WindowEditResult(applied=False, not_saved=("a.txt",))
            with pytest.raises(
                InvalidInput, match=r"could not be saved .* Ask the person to make it writable"
            ):
                await here.files.write_text("a.txt", "agent\n")
            here.played.answers = lambda _: None
            asked = asyncio.create_task(here.files.write_text("a.txt", "agent\n"))
            await here.played.request()
            await here.desk.clock.advance(60)
            with pytest.raises(WindowLost, match="did not confirm whether it was changed"):
                await asked
            assert here.disk("a.txt") == "saved\n"

    async def test_a_window_that_takes_no_edits_has_its_unsaved_files_left_alone(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path, WindowAbilities(buffers=True)) as here:
            here.type("a.txt", "typed\n")
            await here.files.read_text("a.txt")
            with pytest.raises(InvalidInput, match="save or discard"):
                await here.files.write_text("a.txt", "agent\n")
            assert here.disk("a.txt") == "saved\n"
