"""Killed in the middle of the swap: no folder stays mixed, no edit that the person makes meanwhile is lost or untold."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portico.domain.errors import SessionBusy, StoreFailed
from portico.files.locks import locked
from portico.review.files import process_lock
from portico.review.files.atomic_apply import Applier
from portico.review.service import ReviewService
from portico.review.text.change_set import ChangeSet
from portico.testing.clock import ManualClock
from tests.review.folders import change, seen
from tests.review.test_apply_kills import FailingDisk, Killed
from tests.support.editor import Editor
from tests.support.program import Portico, Ran
from tests.support.serving import Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes are POSIX")

ROOT = Path(__file__).parents[2]
OLD = {f"f{number}": f"old {number}\n" for number in range(6)}


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: a kill, unlike a power cut, asks nothing of the disk."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("what", ["apply", "undo", "restore"])
def test_200_kills_aimed_at_the_swap_leave_no_mixed_folder_and_every_edit(memory: Path, what: str) -> None:
    program = [sys.executable, "-m", "tests.security.aimed_kills", what, str(memory), "200"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found.pop("as it should be") == 200, found
    assert found.pop("mixed when killed") > 120, "too few kills came in the middle of the swap"
    assert found.pop("moments") > 15
    assert found.pop("edits told") > 100
    assert found.pop("recovery killed") > 20
    assert found == {}


async def test_a_process_that_is_alive_in_the_middle_of_its_apply_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_apply(tmp_path / "work", tmp_path / "state")
    mixed = seen(tmp_path / "work")
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    monkeypatch.setattr(process_lock, "_LOCK_SECONDS", 0.0)
    with locked(tmp_path / "state" / "applies" / "apply.lock"):
        with pytest.raises(SessionBusy):
            await reviews.open("s", tmp_path / "work", "direct")
        assert await reviews.recover_all() == []
        assert seen(tmp_path / "work") == mixed, "somebody else was at work"
        (tmp_path / "other").mkdir()
        await reviews.open("t", tmp_path / "other", "direct")
    await reviews.open("s", tmp_path / "work", "direct")
    assert {data for data, _ in seen(tmp_path / "work").values()} == {text.encode() for text in OLD.values()}


async def test_nobody_is_bothered_with_a_working_copy_that_was_half_filled(tmp_path: Path) -> None:
    copy = tmp_path / "state" / "workplaces" / "one"
    copy.mkdir(parents=True)
    half_apply(copy, tmp_path / "state")
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    assert await reviews.recover_all() == []
    assert {data for data, _ in seen(copy).values()} == {text.encode() for text in OLD.values()}
    assert not list((tmp_path / "state" / "rollbacks").glob("*"))


async def test_a_folder_that_cannot_be_settled_is_not_worked_in_and_holds_up_no_other(tmp_path: Path) -> None:
    half_apply(tmp_path / "work", tmp_path / "state")
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    (tmp_path / "other").mkdir()
    (tmp_path / "work").rename(tmp_path / "not mounted")
    with pytest.raises(StoreFailed, match="interrupted"):
        await reviews.recover(tmp_path / "work")
    assert await reviews.recover(tmp_path / "other") == ()
    (tmp_path / "not mounted").rename(tmp_path / "work")
    (notice,) = await reviews.recover(tmp_path / "work")
    assert "has been rolled back" in str(notice)


def leave_half_applied(portico: Portico) -> None:
    half_apply(portico.workspace, portico.state / "review")


def half_apply(workspace: Path, reviews: Path) -> None:
    """A workspace and the state of reviews as a process leaves them that is killed in the middle of an apply."""
    workspace.mkdir(exist_ok=True)
    for name, text in OLD.items():
        (workspace / name).write_text(text)
    changes = ChangeSet(tuple(change(name, text.encode(), b"new\n") for name, text in OLD.items()))
    dying = Applier(reviews / "applies", disk=FailingDisk(18, Killed))
    with pytest.raises(Killed):
        dying.apply(workspace, changes)
    contents = {(workspace / name).read_text() for name in OLD}
    assert "new\n" in contents
    assert len(contents) > 1


def leave_half_restored(portico: Portico) -> None:
    """The same, of a process that is killed in the middle of a restore."""
    for name in OLD:
        (portico.workspace / name).write_text("new\n")
    ran = portico.exec("say hello")
    assert ran.code == 0, ran.err
    (first,) = portico.run("checkpoints", "list", "--api").api["checkpoints"]
    for name, text in OLD.items():
        (portico.workspace / name).write_text(text)
    words = [
        sys.executable,
        "-m",
        "tests.review.killed_restores",
        str(portico.state / "review" / "checkpoints"),
    ]
    done = subprocess.run(
        [*words, str(portico.workspace), first["checkpointId"]],
        cwd=ROOT,
        input=b"step 3\n",
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == b"killed\n"
    contents = {(portico.workspace / name).read_text() for name in OLD}
    assert "new\n" in contents
    assert len(contents) > 1


def watching_agent(portico: Portico) -> str:
    """The scripted agent, started by a shell that first writes down what it finds in the folder."""
    seen_at_start = portico.home / "seen"
    return shlex.join(["sh", "-c", f"cat f* > {shlex.quote(str(seen_at_start))}; exec {portico.agent}"])


def check_settled(portico: Portico) -> None:
    files = {path: data for path, (data, _) in seen(portico.workspace).items()}
    assert files == {name: text.encode() for name, text in OLD.items()}
    found = portico.home / "seen"
    assert not found.exists() or found.read_text() == "".join(OLD.values())


def exec_turn(portico: Portico, *flags: str) -> Ran:
    return portico.run("exec", "--agent-command", watching_agent(portico), *flags, "say hello")


def acp_turn(portico: Portico, *flags: str) -> Ran:
    editor = Editor(portico, "--agent-command", watching_agent(portico), *flags)
    session_id = editor.open_session()
    assert "result" in editor.answer_to(editor.prompt(session_id, "say hello"))
    return editor.hang_up()


DOORS: dict[str, Callable[[Portico], Ran]] = {
    "exec": exec_turn,
    "exec that only reads": lambda portico: exec_turn(portico, "--read-only"),
    "sessions list": lambda portico: portico.run("sessions", "list"),
    "acp": acp_turn,
    "acp without proxies": lambda portico: acp_turn(portico, "--no-proxies"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_killed_apply_is_settled_before_anybody_looks(portico: Portico, door: str) -> None:
    leave_half_applied(portico)
    ran = DOORS[door](portico)
    assert ran.code == 0, ran.err
    check_settled(portico)
    assert f"An apply in {portico.workspace} was interrupted and has been rolled back." in ran.err


def test_a_killed_restore_is_settled_before_anybody_looks(portico: Portico) -> None:
    leave_half_restored(portico)
    shutil.copytree(portico.workspace, portico.home / "mixed")
    shutil.copytree(portico.home, portico.home.with_name("saved"))
    for words in (("checkpoints", "list"), ("review", "show"), ("sessions", "list")):
        shutil.rmtree(portico.home)
        shutil.copytree(portico.home.with_name("saved"), portico.home)
        shutil.rmtree(portico.workspace)
        shutil.copytree(portico.home / "mixed", portico.workspace)
        ran = portico.run(*words)
        assert ran.code == 0, ran.err
        check_settled(portico)
        assert "A restore in" in ran.err


def test_a_server_settles_a_folder_before_it_says_where_it_is(portico: Portico) -> None:
    leave_half_applied(portico)
    server = Server(portico)
    running = portico.start("serve")
    assert running.process.stdout is not None
    assert running.process.stdout.readline(), running.end().err
    check_settled(portico)
    server.end()
    assert "was interrupted and has been rolled back" in running.end().err


def test_a_turn_of_a_running_chain_settles_what_another_process_left(portico: Portico) -> None:
    editor = Editor(portico, "--agent-command", portico.agent)
    session_id = editor.open_session()
    leave_half_applied(portico)
    (portico.workspace / "f0").write_text("mine\n")
    assert "result" in editor.answer_to(editor.prompt(session_id, "say hello"))
    assert editor.hang_up().code == 0
    assert (portico.workspace / "f0").read_text() == "mine\n"
    assert {(portico.workspace / name).read_text() for name in list(OLD)[1:]} == set(list(OLD.values())[1:])
    titles = [
        one["params"]["update"].get("title", "")
        for one in editor.heard
        if one.get("method") == "session/update"
    ]
    assert any("You changed f0 in the meantime: it stays as you have it now." in title for title in titles)


def test_the_log_of_the_next_turn_tells_what_was_rolled_back_and_where_the_earlier_version_is(
    portico: Portico,
) -> None:
    leave_half_applied(portico)
    (portico.workspace / "f0").write_text("mine\n")
    assert portico.run("sessions", "list").code == 0
    ran = portico.exec("say hello")
    assert ran.code == 0, ran.err
    told = ran.stream.all("notice")
    (notice,) = [one for one in told if "You changed f0 in the meantime" in one["text"]]
    kept = notice["details"].removeprefix("f0: the earlier version is in ")
    assert Path(kept).read_text() == OLD["f0"]
