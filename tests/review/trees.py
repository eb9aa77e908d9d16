"""Working trees for the tests of the git side: made by the real git, read byte for byte."""

import os
import stat
import subprocess
from pathlib import Path

from portico.review.checkpoints.held_files import STAGING_PREFIX, SnapshotBounds
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.testing.clock import ManualClock

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


def git(folder: Path, *words: str) -> str:
    """Git command as the person would type it."""
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **IDENTITY}, capture_output=True, check=True
    )
    return os.fsdecode(done.stdout).rstrip("\n")


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit that holds these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    with (folder / ".git" / "config").open("a") as config:
        config.write("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    write(folder, {name.replace("__", "."): text for name, text in (files or {"a__txt": "one\n"}).items()})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def content(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and link, with whether it can be executed; what git keeps for itself left out."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if ".git" in path.relative_to(folder).parts or name.startswith(STAGING_PREFIX):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = ("link", os.fsencode(path.readlink()))
        elif stat.S_ISREG(mode):
            found[name] = ("program" if mode & 0o100 else "file", path.read_bytes())
    return found


def person_sees(folder: Path) -> tuple[str, ...]:
    """All that a checkpoint must leave alone: the status, the index, HEAD, every ref, the stash."""
    return (
        git(folder, "status", "--porcelain=v1", "--untracked-files=all"),
        git(folder, "ls-files", "--stage"),
        (folder / ".git" / "HEAD").read_text(),
        git(folder, "for-each-ref"),
        git(folder, "stash", "list"),
    )


def checkpoints(tmp_path: Path, bounds: SnapshotBounds | None = None) -> Checkpoints:
    return Checkpoints(tmp_path / "state", os.environ, ManualClock(), bounds=bounds)
