"""Only its owner can read what Portico stores: folders are created private, and repaired if not."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.domain.reviews import ReviewMode
from portico.files.private import make_private_folder, open_private, remove_others_access
from portico.review.branches.session_branches import FinishMethod
from portico.review.service import ReviewService
from portico.testing import ManualClock
from tests.review.trees import repository, write
from tests.support.editor import Editor
from tests.support.program import Portico

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")

WHERE_MODES_MEAN_SOMETHING = {"objects", "tree", "worktrees"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(folder: Path) -> list[str]:
    """Everything in a folder that others may touch, except in folders that no other user can enter."""
    found = []
    for place, folders, files in os.walk(folder):
        found += [str(Path(place, name)) for name in (*folders, *files) if mode(Path(place, name)) & 0o077]
        folders[:] = [name for name in folders if name not in WHERE_MODES_MEAN_SOMETHING]
    return found


def test_folders_above_a_private_one_are_private_too(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    os.close(open_private(tmp_path / "log", os.O_WRONLY))
    assert mode(tmp_path / "log") == 0o600


def test_what_others_may_touch_is_mended_and_links_are_left_alone(tmp_path: Path) -> None:
    state, outside = tmp_path / "state", tmp_path / "outside"
    (state / "logs").mkdir(parents=True)
    (state / "logs" / "old.log").write_text("x")
    (state / "tool").write_text("x")
    (state / "tool").chmod(0o755)
    (state / "copies" / "tree").mkdir(parents=True)
    (state / "copies" / "tree" / "script").write_text("x")
    (state / "copies" / "tree" / "script").chmod(0o755)
    outside.write_text("x")
    outside.chmod(0o644)
    (state / "link").symlink_to(outside)
    remove_others_access(state)
    assert (
        mode(state)
        == mode(state / "logs")
        == mode(state / "copies" / "tree")
        == mode(state / "tool")
        == 0o700
    )
    assert mode(state / "logs" / "old.log") == 0o600
    assert mode(state / "copies" / "tree" / "script") == 0o755
    assert mode(outside) == 0o644


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Default of most systems: others may read what no program makes private."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
async def test_what_a_review_keeps_is_private_from_the_start(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", a__txt="one\n", b__txt="b\n")
    write(work, {".gitignore": "build/\n", "build/out.o": "made\n", "c.txt": "not committed\n"})
    state = tmp_path / "state"
    make_private_folder(state)
    reviews = ReviewService.at(state / "review", os.environ, ManualClock(), linked=("build",))

    async def turn(session: str, mode: ReviewMode) -> None:
        await reviews.note_files(session, work, "Do it")
        review = await reviews.open(session, work, mode)
        await review.begin_turn("Do it")
        write(review.folder, {"a.txt": f"{session}\n", "d/new.txt": "new\n"})
        await review.end_turn()
        await reviews.changed_outside(session, work)
        assert open_to_others(state) == []

    await turn("proposing", "proposal")
    await turn("proposing", "proposal")
    (proposal, *_) = await reviews.proposals("proposing")
    await reviews.apply("proposing", proposal.id, proposal.revision)
    await reviews.undo("proposing", proposal.id)
    assert open_to_others(state) == []
    await turn("direct", "direct")
    await turn("direct", "direct")
    await reviews.restore("direct", (await reviews.checkpoints("direct"))[-1].id)
    assert open_to_others(state) == []
    for mode in ("worktree", "branch"):
        await turn(mode, mode)
        await reviews.finish(mode, FinishMethod.KEEP)
        assert open_to_others(state) == []


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.parametrize("command", [("agent",), ("acp", "--mode", "proposal"), ("acp",)], ids=" ".join)
def test_a_turn_in_an_editor_leaves_nothing_that_others_can_read(
    portico: Portico, command: tuple[str, ...]
) -> None:
    """No host runs there that would mend it."""
    program, *flags = command
    editor = Editor(portico, *flags, command=program)
    editor.answer_to(editor.prompt(editor.open_session(), "/help"))
    assert open_to_others(portico.state) == []
    assert editor.hang_up().code == 0
    assert open_to_others(portico.state) == []
    assert any(portico.state.rglob("*"))


@pytest.mark.usefixtures("usual_umask")
def test_nothing_is_open_to_others_right_after_a_turn(portico: Portico) -> None:
    repository(portico.workspace, a__txt="one\n")
    assert portico.run("exec", "--mode", "proposal", "/write a.txt hello").code == 0
    assert open_to_others(portico.state) == []


def test_a_whole_state_folder_is_its_owners_alone(portico: Portico) -> None:
    portico.state.mkdir(parents=True)
    portico.state.chmod(0o755)
    old = portico.state / "portico.log"
    old.write_text("from an older version\n")
    old.chmod(0o644)
    for prompt in ("/write a.txt hello", "/help"):
        assert portico.run("exec", "--mode", "proposal", prompt).code == 0
    assert portico.run("sessions", "list").code == 0
    assert mode(portico.state) == 0o700
    assert open_to_others(portico.state) == []
