"""No way leads from a workplace to the person's repository or files without somebody being told."""

import sys
from pathlib import Path

import pytest

from portico.review.git.repositories import find_repository
from tests.review.test_workplaces import told, workplaces
from tests.review.trees import content, git, repository, write


async def test_a_git_worktree_among_ignored_files_is_no_door_to_the_persons_repository(
    tmp_path: Path,
) -> None:
    workspace = repository(tmp_path / "w", __gitignore="trees/\n", main="1\n")
    git(workspace, "worktree", "add", "--quiet", "trees/feature")
    commits = git(workspace, "log", "--all", "--format=%H")
    mode = workplaces(tmp_path)
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
    place = await workplaces(tmp_path).open(workspace, "s1")
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
    mode = workplaces(tmp_path)
    place = await mode.open(workspace, "s1")
    assert git(place.folder, "log", "--format=%s") == "first"
    write(place.folder, {"b.txt": "two\n"})
    git(place.folder, "add", "--all")
    git(place.folder, "commit", "--quiet", "--message=second")
    assert told(await mode.changes(place)) == [("create", "b.txt")]
    assert content(workspace) == before
    assert git(workspace, "log", "--format=%s") == "first"
