"""Whenever a restore is killed, the tree is afterwards as it was before or as it was asked for, never between."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portico.review.checkpoints.held_files import STAGING_PREFIX
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.testing.clock import ManualClock
from tests.review.trees import checkpoints, content, repository, write

ROOT = Path(__file__).parents[2]
RANDOM_KILLS = 30


@contextmanager
def killer(state: Path, workspace: Path, checkpoint: str) -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-m", "tests.review.killed_restores", str(state), str(workspace), checkpoint]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def have_killed(process: "subprocess.Popen[str]", order: str) -> bool:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{order}\n")
    process.stdin.flush()
    return process.stdout.readline() == "killed\n"


def lay_out(folder: Path) -> None:
    write(folder, {f"d{number % 3}/f{number}": f"{number}\n" for number in range(12)})
    (folder / "link").symlink_to("d0/f0")
    write(folder, {"swap/inner": "1\n", "swapped": "1\n", "gone/deep/er": "1\n"})


def wreck(folder: Path) -> None:
    write(folder, {f"d{number % 3}/f{number}": "wrecked\n" for number in range(4)})
    write(folder, {"fresh/file": "new\n", "d0/fresh": "new\n"})
    shutil.rmtree(folder / "swap")
    shutil.rmtree(folder / "gone")
    for name in ("swapped", "link", "d1/f10"):
        (folder / name).unlink()
    write(folder, {"swap": "2\n", "swapped/inner": "2\n", "link": "2\n"})


def reset(workspace: Path, copy: Path) -> None:
    for path in workspace.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(copy, workspace, symlinks=True, dirs_exist_ok=True)


def kept_text(place: str | None) -> str:
    return Path(place or "").read_text()


async def test_a_kill_before_any_step_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    lay_out(workspace)
    first = await checkpoints(tmp_path).create(workspace, "start")
    after = content(workspace)
    wreck(workspace)
    before = content(workspace)
    shutil.copytree(workspace, tmp_path / "wrecked", symlinks=True)
    steps = 0
    between = False
    with killer(tmp_path / "state", workspace, first.id) as process:
        while have_killed(process, f"step {steps}"):
            between = between or content(workspace) not in (before, after)
            assert await checkpoints(tmp_path).recover(workspace)
            assert content(workspace) == before, f"killed at step {steps}"
            assert not list(workspace.glob(f"{STAGING_PREFIX}*"))
            steps += 1
    assert content(workspace) == after
    assert between, "no kill came between two moves, so nothing was shown"
    assert steps > 10


async def test_kills_at_random_moments_end_before_or_after(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    lay_out(workspace)
    store = Checkpoints(tmp_path / "state", os.environ, ManualClock())
    first = await store.create(workspace, "start")
    after = content(workspace)
    wreck(workspace)
    before = content(workspace)
    copy = tmp_path / "wrecked"
    shutil.copytree(workspace, copy, symlinks=True)
    chance = random.Random(20)
    with killer(tmp_path / "state", workspace, first.id) as process:
        assert not have_killed(process, f"step {sys.maxsize}")  # The first one also pays for its start.
        reset(workspace, copy)
        begun = time.monotonic()
        assert not have_killed(process, f"step {sys.maxsize}")
        whole = time.monotonic() - begun
        kills = 0
        for _ in range(RANDOM_KILLS):
            reset(workspace, copy)
            kills += have_killed(process, f"after {chance.uniform(0, whole):.6f}")
            await store.recover(workspace)
            assert content(workspace) in (before, after)
            assert not list(workspace.glob(f"{STAGING_PREFIX}*"))
    assert kills >= RANDOM_KILLS // 4, "hardly any kill came before the end"
    reset(workspace, copy)
    await store.restore(workspace, first.id)
    assert content(workspace) == after


async def test_what_the_person_wrote_between_a_kill_and_the_next_start_stays_and_is_told(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "w"
    lay_out(workspace)
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    wreck(workspace)
    before = content(workspace)
    with killer(tmp_path / "state", workspace, first.id) as process:
        assert have_killed(process, "step 10")
    mine = {"d0/f0": "written after the kill\n", "d1/f4": "this one too\n"}
    write(workspace, mine)
    (workspace / "d1" / "f1").unlink()
    rollback = await store.recover(workspace)
    assert rollback is not None
    earlier = {one.path: one.earlier for one in rollback.edits}
    assert earlier.keys() == {"d0/f0", "d1/f1"}
    assert [kept_text(place) for place in earlier.values()] == ["wrecked\n"] * 2
    now = content(workspace)
    assert all((workspace / path).read_text() == text for path, text in mine.items())
    assert now.keys() == before.keys() - {"d1/f1"}
    assert all(now[path] == before[path] for path in now if path not in mine)
