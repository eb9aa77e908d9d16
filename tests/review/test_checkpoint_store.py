"""The store of checkpoints is a git repository: what Portico writes and reads there itself, git reads and writes too."""

import subprocess
from pathlib import Path

import pytest

from portico.git.program import Git, GitResult
from portico.review.checkpoints.lifecycle import Checkpoints
from tests.review.trees import checkpoints, git, repository, write


def store_of(tmp_path: Path) -> Path:
    (store,) = (tmp_path / "state").glob("*/store.git")
    return store


def in_store(tmp_path: Path, *words: str) -> str:
    command = ("git", f"--git-dir={store_of(tmp_path)}", *words)
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


async def labels(store: Checkpoints, workspace: Path) -> list[str]:
    return [each.label for each in await store.list(workspace)]


async def test_git_finds_checkpoints_sound(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", a__txt="one\n")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "first")
    write(workspace, {"a.txt": "two\n"})
    second = await store.create(workspace, "second")
    in_store(tmp_path, "fsck", "--strict")
    refs = in_store(tmp_path, "for-each-ref", "--format=%(refname) %(tree)").split()
    assert refs == [
        f"refs/checkpoints/{first.id}",
        first.tree,
        f"refs/checkpoints/{second.id}",
        second.tree,
    ]


@pytest.mark.parametrize("tidied", [("pack-refs", "--all"), ("gc", "--prune=now", "--quiet")])
async def test_checkpoints_that_git_has_packed_are_found_beside_new_ones(
    tmp_path: Path, tidied: tuple[str, ...]
) -> None:
    workspace = repository(tmp_path / "w", a__txt="one\n")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "first")
    in_store(tmp_path, *tidied)
    await store.create(workspace, "second")
    assert await labels(store, workspace) == ["second", "first"]
    await store.release(workspace, first.id)
    write(workspace, {"a.txt": "two\n"})
    await store.restore(workspace, first.id)
    assert (workspace / "a.txt").read_text() == "one\n"


async def test_an_index_in_another_format_is_read_by_git(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", a__txt="one\n")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "first")
    in_store(tmp_path, "update-index", "--index-version", "4")
    assert (await store.create(workspace, "again")).tree == first.tree
    write(workspace, {"new": "n\n"})
    second = await store.create(workspace, "second")
    assert await store.read(workspace, second.id, "new") == b"n\n"


async def test_a_repository_that_appears_or_changes_is_noticed(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "a\n"})
    store = checkpoints(tmp_path)
    await store.create(workspace, "no repository")
    git(workspace, "init", "--quiet")
    (workspace / ".git" / "info" / "exclude").write_text("ignored\n")
    write(workspace, {"ignored": "x\n", "new": "n\n"})
    made = await store.create(workspace, "a repository")
    assert await store.read(workspace, made.id, "ignored") is None
    assert await store.read(workspace, made.id, "new") == b"n\n"
    (workspace / ".git").rename(workspace / "away")
    gone = await store.create(workspace, "none again")
    assert await store.read(workspace, gone.id, "ignored") == b"x\n"


async def test_a_checkpoint_of_an_unchanged_folder_takes_two_git_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = repository(tmp_path / "w", a__txt="one\n")
    store = checkpoints(tmp_path)
    await store.create(workspace, "first")
    run, asked = Git.ask, []

    async def ask(self: Git, *words: str, **options: object) -> GitResult:
        asked.append(words[0])
        return await run(self, *words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "ask", ask)
    await store.create(workspace, "second")
    assert sorted(asked) == ["diff-files", "ls-files"]
