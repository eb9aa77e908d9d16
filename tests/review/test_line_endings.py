"""Line endings that git converts: a worktree has the person's bytes."""

import os
import shutil
from pathlib import Path

import pytest

from portico.domain.events import ProposalUpdated
from portico.review.branches.session_branches import FinishMethod
from portico.review.service import ReviewService
from portico.review.working_copies.worktrees import Worktrees
from portico.testing.clock import ManualClock
from tests.review.trees import content, git, repository

WITH_RETURNS = b"one\r\ntwo\r\nthree\r\n"
WITHOUT = WITH_RETURNS.replace(b"\r", b"")
MIXED = b"one\r\ntwo\nthree\r\n"

every_conversion = pytest.mark.parametrize(
    ("setting", "attributes"),
    [
        ("input", ""),
        ("true", ""),
        ("false", "* text=auto eol=crlf\n"),
        ("false", "* text=auto eol=lf\n"),
        ("false", "*.txt text ident\n"),
    ],
)


def converting(folder: Path, setting: str, attributes: str, data: bytes) -> Path:
    """A repository with these bytes in a committed, a changed and an untracked file."""
    work = repository(folder, __gitattributes=attributes)
    git(work, "config", "core.autocrlf", setting)
    for name in ("committed.txt", "changed.txt"):
        (work / name).write_bytes(data)
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=second")
    for name in ("changed.txt", "untracked.txt"):
        (work / name).write_bytes(data + data)
    return work


@every_conversion
@pytest.mark.parametrize("data", [WITH_RETURNS, WITHOUT, MIXED, b"$Id$\n" + WITHOUT])
async def test_a_worktree_has_the_persons_bytes_however_git_would_write_them(
    tmp_path: Path, setting: str, attributes: str, data: bytes
) -> None:
    work = converting(tmp_path / "w", setting, attributes, data)
    before = git(work, "status", "--porcelain")
    worktree = await Worktrees(tmp_path / "state", os.environ).open(work, "s1")
    assert content(worktree.path) == content(work)
    assert git(worktree.path, "status", "--porcelain") == git(work, "status", "--porcelain") == before


@every_conversion
@pytest.mark.parametrize("data", [WITH_RETURNS, WITHOUT])
async def test_lines_that_only_the_agent_changed_come_home_with_the_ends_that_the_file_has(
    tmp_path: Path, setting: str, attributes: str, data: bytes
) -> None:
    work = converting(tmp_path / "w", setting, attributes, data)
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Do it")
    mine = (review.folder / "committed.txt").read_bytes()
    (review.folder / "committed.txt").write_bytes(mine.replace(b"two", b"agent"))
    (told,) = [one for one in await review.end_turn() if isinstance(one, ProposalUpdated)]
    assert [(one.path, one.conflict, one.added, one.removed) for one in told.files] == [
        ("committed.txt", False, 1, 1)
    ]
    await reviews.finish("s1", FinishMethod.SQUASH)
    assert (work / "committed.txt").read_bytes() == data.replace(b"two", b"agent")
    assert git(work, "show", "HEAD:committed.txt") == "one\nagent\nthree"
    assert git(work, "status", "--porcelain") == " M changed.txt\n?? untracked.txt"


async def test_a_worktree_that_is_made_anew_takes_over_no_file_that_has_changed_since(tmp_path: Path) -> None:
    work = converting(tmp_path / "w", "input", "", WITH_RETURNS)
    (work / "folder").mkdir()
    (work / "folder" / "inside.txt").write_bytes(WITH_RETURNS)
    mode = Worktrees(tmp_path / "state", os.environ)
    worktree = await mode.open(work, "s1")
    shutil.rmtree(worktree.path)
    (work / "changed.txt").write_bytes(b"since\r\n")
    (work / "folder").rename(tmp_path / "elsewhere")
    (work / "folder").symlink_to(tmp_path / "elsewhere")
    again = await mode.open(work, "s1")
    assert (again.path / "committed.txt").read_bytes() == WITH_RETURNS
    assert (again.path / "changed.txt").read_bytes() == WITHOUT + WITHOUT
    assert (again.path / "folder" / "inside.txt").read_bytes() == WITHOUT
