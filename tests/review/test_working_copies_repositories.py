"""Working copies of odd repositories: unborn, detached, in the middle of something, one inside another, gone."""

import shutil
from pathlib import Path

import pytest

from portico.domain.errors import FileMissing
from tests.review.test_working_copies import told, working_copies
from tests.review.trees import content, git, person_sees, repository, write


async def test_a_repository_without_a_commit_is_no_obstacle(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a.txt": "1\n", "staged": "s\n"})
    git(workspace, "init", "--quiet", "--initial-branch=main")
    git(workspace, "add", "staged")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert git(place.folder, "status", "--porcelain=v1").split("\n") == ["A  staged", "?? a.txt"]
    write(place.folder, {"a.txt": "2\n"})
    assert told(await mode.changes(place)) == [("update", "a.txt")]


async def test_a_detached_head_is_no_obstacle(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "checkout", "--quiet", "--detach")
    place = await working_copies(tmp_path).open(workspace, "s1")
    assert git(place.folder, "rev-parse", "HEAD") == git(workspace, "rev-parse", "HEAD")
    assert git(place.folder, "branch", "--show-current") == ""


async def test_in_the_middle_of_a_rebase_an_agent_may_propose_how_a_conflict_ends(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "checkout", "--quiet", "-b", "other")
    write(workspace, {"a.txt": "theirs\n"})
    git(workspace, "commit", "--quiet", "-am", "theirs")
    git(workspace, "checkout", "--quiet", "main")
    write(workspace, {"a.txt": "ours\n"})
    git(workspace, "commit", "--quiet", "-am", "ours")
    with pytest.raises(Exception, match="rebase"):
        git(workspace, "rebase", "other")
    before = content(workspace), person_sees(workspace)
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert git(place.folder, "status", "--porcelain=v1") == "UU a.txt"
    write(place.folder, {"a.txt": "resolved\n"})
    assert told(await mode.changes(place)) == [("update", "a.txt")]
    await mode.close(place)
    assert (content(workspace), person_sees(workspace)) == before
    git(workspace, "rebase", "--abort")


async def test_files_of_submodules_and_inner_repositories_are_work_like_any_other(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", code="1\n")
    workspace = repository(tmp_path / "w")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(workspace, "commit", "--quiet", "-am", "with a submodule")
    repository(workspace / "inner", x="1\n")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert (place.folder / "sub" / "code").read_text() == "1\n"
    assert (place.folder / "inner" / "x").read_text() == "1\n"
    write(place.folder, {"sub/code": "2\n", "inner/x": "2\n", "inner/new": "n\n"})
    assert told(await mode.changes(place)) == [
        ("create", "inner/new"),
        ("update", "inner/x"),
        ("update", "sub/code"),
    ]
    assert git(workspace / "sub", "status", "--porcelain") == ""
    write(workspace, {"sub/persons": "p\n"})
    assert (await mode.refresh(place)).taken == ("sub/persons",)


async def test_an_agent_that_makes_a_repository_of_its_own_inside_still_proposes_its_files(
    tmp_path: Path,
) -> None:
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    repository(place.folder / "fresh", code="1\n")
    assert told(await mode.changes(place)) == [("create", "fresh/code")]


async def test_the_persons_own_worktree_can_be_the_workspace(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    git(root, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    place = await working_copies(tmp_path).open(tmp_path / "side", "s1")
    assert git(place.folder, "branch", "--show-current") == "side"
    assert git(place.folder, "status", "--porcelain") == ""


async def test_a_workspace_that_its_repository_ignores_is_a_folder_without_git(tmp_path: Path) -> None:
    root = repository(tmp_path / "w", __gitignore="scratch/\n")
    write(root, {"scratch/x": "1\n"})
    mode = working_copies(tmp_path)
    place = await mode.open(root / "scratch", "s1")
    assert content(place.folder) == {"x": ("file", b"1\n")}
    write(place.folder, {"x": "2\n"})
    assert told(await mode.changes(place)) == [("update", "x")]


async def test_a_worktree_deleted_by_hand_is_made_anew_and_counts_from_its_start(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1", mode="worktree")
    write(place.folder, {"a.txt": "agent\n"})
    shutil.rmtree(place.top)
    assert await mode.open(workspace, "s1", mode="worktree") == place
    assert (await mode.changes(place)).changes == ()
    write(place.folder, {"a.txt": "agent\n"})
    assert told(await mode.changes(place)) == [("update", "a.txt")]
    shutil.rmtree(place.top)
    await mode.close(place)
    assert git(workspace, "for-each-ref", "refs/heads/portico") == ""


async def test_a_workspace_that_is_gone_can_still_be_closed(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path)
    one = await mode.open(workspace, "one")
    two = await mode.open(workspace, "two", mode="worktree")
    shutil.rmtree(workspace)
    with pytest.raises(FileMissing, match="is gone, so nothing can be taken over"):
        await mode.refresh(one)
    for place in (one, two):
        assert await mode.find(workspace, place.session) == place
        await mode.close(place)
        assert await mode.find(workspace, place.session) is None
        assert not place.top.exists()
