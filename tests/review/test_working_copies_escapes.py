"""No way leads from a working copy to the person's repository or files without a report."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from portico.domain.errors import StoreFailed
from portico.git.repository import find_repository
from tests.review.test_working_copies import told, working_copies
from tests.review.trees import content, git, repository, write


async def test_a_git_worktree_among_ignored_files_is_no_door_to_the_persons_repository(
    tmp_path: Path,
) -> None:
    workspace = repository(tmp_path / "w", __gitignore="trees/\n", main="1\n")
    git(workspace, "worktree", "add", "--quiet", "trees/feature")
    commits = git(workspace, "log", "--all", "--format=%H")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    own = place.folder / "trees" / "feature"
    write(own, {"stray": "x\n"})
    git(own, "add", "--all", "--force")
    git(own, "commit", "--quiet", "--message=stray")
    assert git(workspace, "log", "--all", "--format=%H") == commits
    assert git(workspace / "trees" / "feature", "status", "--porcelain") == ""


async def test_a_link_to_somewhere_else_is_told_of_since_what_is_written_there_is_not_reviewed(
    tmp_path: Path,
) -> None:
    workspace = repository(tmp_path / "w")
    (tmp_path / "shared").mkdir()
    (workspace / "data").symlink_to(tmp_path / "shared")
    (workspace / "own").symlink_to(workspace / "a.txt")
    place = await working_copies(tmp_path).open(workspace, "s1")
    assert [(each.path, each.reason) for each in place.left_out] == [
        ("data", "is a link out of the folder: what is written through it is not reviewed")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
@pytest.mark.parametrize("name", ["two\nlines", "ending\n", 'a "quoted" one', "spaces and ünï"])
async def test_a_repository_of_any_name_is_worked_in(tmp_path: Path, name: str) -> None:
    workspace = repository(tmp_path / name)
    before = content(workspace)
    found = await find_repository(workspace, {"PATH": "/usr/bin:/bin"})
    assert found is not None
    assert (found.root, found.git_folder) == (workspace, workspace / ".git")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert git(place.folder, "log", "--format=%s") == "first"
    write(place.folder, {"b.txt": "two\n"})
    git(place.folder, "add", "--all")
    git(place.folder, "commit", "--quiet", "--message=second")
    assert told(await mode.changes(place)) == [("create", "b.txt")]
    assert content(workspace) == before
    assert git(workspace, "log", "--format=%s") == "first"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows makes no links for everybody")
@pytest.mark.parametrize("name", ["packed-refs", "HEAD", "index", "origin", "shallow"])
async def test_a_link_that_an_agent_puts_into_its_repository_leads_portico_to_no_file_outside(
    tmp_path: Path, name: str
) -> None:
    workspace = repository(tmp_path / "w")
    place = await working_copies(tmp_path).open(workspace, "s1")
    outside = tmp_path / "outside"
    outside.write_text("theirs\n")
    planted = Path(git(place.folder, "rev-parse", "--absolute-git-dir")) / name
    if name == "shallow":
        git(workspace, "commit", "--quiet", "--allow-empty", "--message=more")
        write(workspace, {".git/shallow": git(workspace, "rev-parse", "HEAD")})
    elif planted.exists():
        outside.write_bytes(planted.read_bytes())
        planted.unlink()
    planted.symlink_to(outside)
    before = outside.read_bytes()
    git(workspace, "commit", "--quiet", "--allow-empty", "--message=second")
    with suppress(StoreFailed):
        await working_copies(tmp_path).refresh(place)
    assert outside.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize("name", ["packed-refs", "HEAD", "origin", "index"])
async def test_a_pipe_that_an_agent_puts_into_its_repository_holds_nobody_up(
    tmp_path: Path, name: str
) -> None:
    workspace = repository(tmp_path / "w")
    place = await working_copies(tmp_path).open(workspace, "s1")
    planted = Path(git(place.folder, "rev-parse", "--absolute-git-dir")) / name
    planted.unlink()
    os.mkfifo(planted)
    git(workspace, "commit", "--quiet", "--allow-empty", "--message=second")
    async with asyncio.timeout(20):
        with suppress(StoreFailed):
            await working_copies(tmp_path).refresh(place)
