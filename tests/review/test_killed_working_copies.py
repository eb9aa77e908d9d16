"""Whenever a process is killed that is at work on a working copy, the next one finds it as it was or as asked."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portico.review.proposals.lifecycle import Proposals
from portico.review.service import ReviewService
from portico.review.working_copies.lifecycle import WorkingCopies
from portico.testing.clock import ManualClock
from tests.review.test_apply_kills import Killed
from tests.review.test_working_copies import told
from tests.review.trees import content, repository, write

ROOT = Path(__file__).parents[2]
MOST_TOUCHES = 400

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork there")


@contextmanager
def killer(state: Path, workspace: Path) -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-m", "tests.review.killed_working_copies", str(state), str(workspace)]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def killed(process: "subprocess.Popen[str]", what: str, touches: int) -> bool:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{what} {touches}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer in ("killed\n", "done\n")
    return answer == "killed\n"


async def test_an_open_killed_at_any_touch_of_the_disk_is_made_whole_by_the_next(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", __gitignore="packages/\n", a="1\n")
    write(workspace, {"deep/er": "2\n", "packages/x": "x\n"})
    state = tmp_path / "state"
    with killer(state, workspace) as process:
        for touches in range(MOST_TOUCHES):
            if not killed(process, "open", touches):
                break
            mode = WorkingCopies(state, os.environ)
            if touches % 3 == 0:  # Often enough that one open meets the ruins of another, too.
                place = await mode.open(workspace, "s1")
                assert content(place.folder) == content(workspace)
                assert (await mode.changes(place)).changes == ()
                shutil.rmtree(state)
        else:
            pytest.fail("it never came to an end")
    assert touches > 20


@pytest.mark.parametrize("what", ["refresh", "discard"])
async def test_a_kill_at_any_touch_of_the_disk_mixes_up_nobodys_changes(tmp_path: Path, what: str) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "1\n", "b": "1\n", "c": "1\n", "gone/x": "1\n", "agents": "1\n"})
    kept, state = tmp_path / "kept", tmp_path / "state"
    mode = WorkingCopies(state, os.environ)
    place = await mode.open(workspace, "s1")
    write(place.folder, {"agents": "agent\n", "new": "agent\n"})
    shutil.copytree(state, kept)
    write(workspace, {"a": "person\n", "b": "person\n", "agents": "person\n", "persons/x": "p\n"})
    shutil.rmtree(workspace / "gone")
    persons = content(workspace)
    agents = [("update", "agents"), ("create", "new")]
    allowed = [agents, agents[:1], agents[1:], []] if what == "discard" else [agents]
    with killer(state, workspace) as process:
        for touches in range(MOST_TOUCHES):
            if not killed(process, what, touches):
                break
            assert told(await mode.changes(place)) in allowed
            assert content(workspace) == persons
            await mode.refresh(place)
            assert told(await mode.changes(place)) in allowed
            assert (place.folder / "a").read_text() == "person\n"
            assert not (place.folder / "gone").exists()
            shutil.rmtree(state)
            shutil.copytree(kept, state)
        else:
            pytest.fail("it never came to an end")
    assert touches > 10


async def test_a_close_killed_at_any_touch_of_the_disk_is_finished_by_the_next(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "1\n", "b/c": "1\n"})
    state = tmp_path / "state"
    mode = WorkingCopies(state, os.environ)
    with killer(state, workspace) as process:
        for touches in range(MOST_TOUCHES):
            place = await mode.open(workspace, "s1")
            if not killed(process, "close", touches):
                break
            await mode.close(place)
            assert await mode.find(workspace, "s1") is None
            assert not list(place.top.parents[2].iterdir())
        else:
            pytest.fail("it never came to an end")
    assert touches > 3


@pytest.mark.parametrize("finding", ["turn", "start"])
async def test_what_is_proposed_outlives_a_kill_while_the_agents_tree_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finding: str
) -> None:
    def reviews() -> ReviewService:
        return ReviewService.at(tmp_path / "state", os.environ, ManualClock())

    def killed(*_: object) -> None:
        raise Killed

    work = tmp_path / "work"
    write(work, {"a": "one\n"})
    review = await reviews().open("s", work, "proposal")
    await review.begin_turn("go")
    write(review.folder, {"a": "two\n"})
    await review.end_turn()
    shutil.rmtree(review.folder)
    with monkeypatch.context() as patch:
        patch.setattr(Proposals, "replay", killed)
        with pytest.raises(Killed):
            await reviews().open("s", work, "proposal")
    if finding == "start":
        await reviews().salvage("s", work)
    again = await reviews().open("s", work, "proposal")
    await again.begin_turn("more")
    (proposal,) = await reviews().proposals("s")
    assert proposal.status == "open"
    assert content(again.folder)["a"] == ("file", b"two\n")
