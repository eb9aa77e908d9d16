"""Worktree mode: a session has a tree of its own, with the person's work in it, and theirs is not touched."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from portico.domain.errors import FileMissing, InvalidInput, SessionBusy
from portico.review.git.tree_changes import TreeChange, TreeOperation
from portico.review.working_copies.worktrees import Worktrees
from tests.review.trees import content, git, person_sees, repository, write


def worktrees(tmp_path: Path) -> Worktrees:
    return Worktrees(tmp_path / "state" / "worktrees", os.environ)


def dirty(folder: Path) -> Path:
    workspace = repository(folder, a__txt="a\n", b__txt="b\n")
    write(workspace, {"a.txt": "mine\n", "untracked": "u\n", ".env": "KEY=1\n"})
    (workspace / "b.txt").unlink()
    return workspace


def own_view(workspace: Path) -> tuple[str, ...]:
    status, index, head, refs, stash = person_sees(workspace)
    return status, index, head, "\n".join(each for each in refs.split("\n") if "portico/" not in each), stash


async def test_a_worktree_has_the_uncommitted_work_and_leaves_the_persons_tree_alone(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    before = content(workspace), own_view(workspace)
    worktree = await worktrees(tmp_path).open(workspace, "s1")
    without_secrets = {name: each for name, each in content(workspace).items() if name != ".env"}
    assert content(worktree.path) == without_secrets
    assert git(worktree.path, "branch", "--show-current") == worktree.branch
    assert git(worktree.path, "status", "--porcelain=v1").split("\n") == [
        " M a.txt",
        " D b.txt",
        "?? untracked",
    ]
    write(worktree.path, {"a.txt": "agent\n"})
    assert (content(workspace), own_view(workspace)) == before


async def test_changes_are_the_agents_alone_committed_or_not(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = worktrees(tmp_path)
    worktree = await mode.open(workspace, "s1")
    assert (await mode.changes(worktree)).files == ()
    write(worktree.path, {"a.txt": "mine\nagent\n", "committed": "c\n"})
    git(worktree.path, "add", "committed")
    git(worktree.path, "commit", "--quiet", "--message=agent")
    write(worktree.path, {"new": "n\n"})
    (worktree.path / "untracked").unlink()
    changes = await mode.changes(worktree)
    assert changes.files == (
        TreeChange("a.txt", TreeOperation.UPDATE, 1, 0),
        TreeChange("committed", TreeOperation.CREATE, 1, 0),
        TreeChange("new", TreeOperation.CREATE, 1, 0),
        TreeChange("untracked", TreeOperation.DELETE, 0, 1),
    )
    assert await mode.read(worktree, changes.start, "a.txt") == b"mine\n"
    assert await mode.read(worktree, changes.end, "a.txt") == b"mine\nagent\n"


async def test_sessions_work_side_by_side(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = worktrees(tmp_path)
    one, two = await asyncio.gather(mode.open(workspace, "one"), mode.open(workspace, "two"))
    write(one.path, {"a.txt": "one\n"})
    write(two.path, {"a.txt": "two\n"})
    assert [each.path for each in (await mode.changes(one)).files] == ["a.txt"]
    assert (two.path / "a.txt").read_text() == "two\n"
    assert await mode.open(workspace, "one") == one


async def test_closing_a_dirty_or_locked_worktree_leaves_only_its_last_state_in_a_ref(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    before = content(workspace), own_view(workspace)
    mode = worktrees(tmp_path)
    worktree = await mode.open(workspace, "s1")
    write(worktree.path, {"new": "n\n"})
    git(workspace, "worktree", "lock", str(worktree.path))
    await mode.close(worktree)
    assert not worktree.path.exists()
    assert (content(workspace), own_view(workspace)) == before
    assert len(git(workspace, "worktree", "list").split("\n")) == 1
    assert git(workspace, "branch", "--list", "portico/*") == ""
    assert git(workspace, "show", "refs/portico/worktree/s1/end:new") == "n"


async def test_a_worktree_deleted_by_hand_says_so_and_can_be_opened_again_or_closed(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = worktrees(tmp_path)
    worktree = await mode.open(workspace, "s1")
    write(worktree.path, {"committed": "c\n"})
    git(worktree.path, "add", "committed")
    git(worktree.path, "commit", "--quiet", "--message=agent")
    shutil.rmtree(worktree.path)
    with pytest.raises(FileMissing, match="is gone from"):
        await mode.changes(worktree)
    again = await mode.open(workspace, "s1")
    assert again == worktree
    assert (again.path / "a.txt").read_text() == "mine\n"
    assert git(workspace, "show", "refs/portico/worktree/s1/commits:committed") == "c"
    shutil.rmtree(again.path)
    await mode.close(again)
    assert len(git(workspace, "worktree", "list").split("\n")) == 1


async def test_a_folder_of_a_repository_is_the_same_folder_in_the_worktree(tmp_path: Path) -> None:
    root = dirty(tmp_path / "w")
    write(root, {"part/code": "1\n"})
    worktree = await worktrees(tmp_path).open(root / "part", "s1")
    assert worktree.folder == worktree.path / "part"
    assert (worktree.folder / "code").read_text() == "1\n"


async def test_a_detached_head_is_no_obstacle(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    git(workspace, "checkout", "--quiet", "--detach")
    worktree = await worktrees(tmp_path).open(workspace, "s1")
    assert (worktree.path / "a.txt").read_text() == "mine\n"


async def test_a_worktree_with_submodules_is_closed_too(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", code="1\n")
    workspace = repository(tmp_path / "w")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    mode = worktrees(tmp_path)
    worktree = await mode.open(workspace, "s1")
    git(worktree.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    await mode.close(worktree)
    assert not worktree.path.exists()
    assert git(workspace / "sub", "status", "--porcelain") == ""


async def test_what_cannot_be_done_is_refused_in_words(tmp_path: Path) -> None:
    mode = worktrees(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(InvalidInput, match="not in a git repository"):
        await mode.open(plain, "s1")
    git(plain, "init", "--quiet")
    with pytest.raises(InvalidInput, match="no commit yet"):
        await mode.open(plain, "s1")
    workspace = repository(tmp_path / "w")
    (workspace / ".git" / "MERGE_HEAD").write_text(git(workspace, "rev-parse", "HEAD"))
    with pytest.raises(SessionBusy, match="in the middle of a merge"):
        await mode.open(workspace, "s1")
    with pytest.raises(InvalidInput, match="cannot be the name"):
        await mode.open(workspace, "../up")


async def test_a_branch_named_portico_is_in_the_way_and_said_so(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    git(workspace, "branch", "portico")
    before = content(workspace), person_sees(workspace)
    with pytest.raises(InvalidInput, match="A branch named portico exists"):
        await worktrees(tmp_path).open(workspace, "s1")
    assert (content(workspace), person_sees(workspace)) == before
