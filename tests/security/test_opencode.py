"""OpenCode writes the person's files by itself, through its own shell and by their real paths."""

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.review.folders import Seen, seen
from tests.review.trees import repository, write
from tests.support.model_endpoint import ModelEndpoint
from tests.support.opencode import opencode_command, opencode_environ, run_in_shell
from tests.support.program import Portico, Ran

MODES = pytest.mark.parametrize(
    "mode", [("--read-only",), ("--mode", "proposal")], ids=["read-only", "proposal"]
)
ATTACK = """
cd {workspace} || exit
printf 'by itself\\n' > a.txt
rm b.txt
mv d/c.txt moved.txt
chmod 666 d/private.txt
printf 'planted\\n' > build/planted.o
printf '#!/bin/sh\\n' > .git/hooks/pre-commit
echo attempted
"""
CHANGED = {
    ".git/hooks/pre-commit": "new",
    "a.txt": "changed",
    "b.txt": "removed",
    "build/planted.o": "new",
    "d/c.txt": "removed",
    "d/private.txt": "permissions",
    "moved.txt": "new",
}


@pytest.fixture
def work(portico: Portico) -> Path:
    folder = repository(portico.workspace, a__txt="as it was\r\n\tno newline", b__txt="b\n")
    write(folder, {"d/c.txt": "c\n", "d/private.txt": "p\n", ".gitignore": "build/\n", "build/out.o": "o\n"})
    return folder


def files(folder: Path) -> Seen:
    """All that the attack is aimed at: the person's files, and the hooks of their repository."""
    return {
        name: facts
        for name, facts in seen(folder).items()
        if not name.startswith(".git/") or name.startswith(".git/hooks/")
    }


async def attacked(portico: Portico, flags: Sequence[str]) -> tuple[Ran, str]:
    """A turn in which OpenCode attacks the workspace, and what its shell printed."""
    async with ModelEndpoint() as endpoint:
        printed = run_in_shell(endpoint, ATTACK.format(workspace=shlex.quote(str(portico.workspace))))
        words = ("--agent-command", opencode_command(), *flags)
        ran = await asyncio.to_thread(
            portico.exec, "Do it", *words, environ=opencode_environ(endpoint), seconds=100
        )
    assert ran.code == 0, (ran.text, ran.err)
    (output,) = printed
    return ran, output


@MODES
async def test_without_a_sandbox_the_change_is_shown_and_put_back(
    portico: Portico, work: Path, mode: tuple[str, ...]
) -> None:
    before = files(work)
    ran, output = await attacked(portico, [*mode, "--sandbox", "none"])
    assert "attempted" in output
    assert (work / "a.txt").read_text() == "by itself\n"

    (notice,) = [one for one in ran.stream.all("notice") if one.get("code") == "changed_outside_review"]
    assert notice["level"] == "warning"
    lines = [line.partition(" (")[0].partition(": ") for line in notice["details"].splitlines()]
    assert {path: kind for kind, _, path in lines} == CHANGED
    assert sorted(notice["paths"]) == sorted(CHANGED)

    session = ran.stream.session_id
    restored = portico.run(
        "checkpoints", "restore", notice["checkpointId"], "--session", session, "--api"
    ).api
    after = files(work)
    stays = {".git/hooks/pre-commit", "build/planted.o"}
    assert {name: facts for name, facts in after.items() if name not in stays} == before
    # It is unknown whose change it was, so the person can restore it.
    assert restored["proposal"]["origin"] == "restored"


@MODES
async def test_in_a_sandbox_it_changes_nothing(portico: Portico, work: Path, mode: tuple[str, ...]) -> None:
    before = files(work)
    ran, _ = await attacked(portico, [*mode, "--sandbox", "workspace"])
    assert files(work) == before
    assert [one for one in ran.stream.all("notice") if one.get("code") is not None] == []
