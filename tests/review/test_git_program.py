"""The git program: callers may be cancelled at any moment."""

import asyncio
import logging
import os
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput
from portico.git import program
from portico.git.program import Git

MOMENTS = 100
FIRST_SECONDS, STEP_SECONDS = 0.001, 0.00006


async def test_a_git_that_is_given_up_at_any_moment_is_gone_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    git, given_up = Git(tmp_path, os.environ), 0
    with caplog.at_level(logging.WARNING):
        for moment in range(MOMENTS):
            try:
                async with asyncio.timeout(FIRST_SECONDS + moment * STEP_SECONDS):
                    await git.ask("--version")
            except TimeoutError:
                given_up += 1
    assert given_up > 0
    assert caplog.messages == []


async def test_a_git_that_has_more_to_say_than_is_wanted_is_not_waited_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "OUTPUT_LIMIT_BYTES", 1000)
    # It writes on although it is told to end, and more than fits into a pipe that is not read.
    git = Git(tmp_path, os.environ, ("alias.flood=!trap '' TERM; head -c 1000000 /dev/zero",))
    async with asyncio.timeout(30):
        with pytest.raises(InvalidInput, match="said more than"):
            await git.ask("flood")
