"""The automatic check after a change of a small model, with the real build component and its commands."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    command = (
        sys.executable,
        "-m",
        "tests.porter.loop.checked_models",
        str(tmp_path_factory.mktemp("check")),
    )
    root = Path(__file__).parents[3]
    ended = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True, timeout=100)
    found: dict[str, dict[str, Any]] = json.loads(ended.stdout)
    return found


def test_what_fails_after_a_change_is_told_to_the_model_until_it_passes(
    seen: dict[str, dict[str, Any]],
) -> None:
    assert seen["repairs"]["passed"]
    told = seen["repairs"]["told"]
    # The turn ends with the change after which the check passes.
    assert len(told) == 3
    assert told[2].startswith(
        "[The project was checked after your change:\nTests failed: 0 tests passed, 1 failed"
    )
    assert "test_add" in told[2]


def test_a_model_that_cannot_repair_it_is_asked_twice(seen: dict[str, dict[str, Any]]) -> None:
    assert not seen["fails"]["passed"]
    told = seen["fails"]["told"]
    assert len(told) == 6
    assert [text.startswith("[The project was checked") for text in told] == [
        False,
        False,
        True,
        False,
        True,
        False,
    ]


def test_a_draft_after_which_the_check_fails_is_followed_by_another(seen: dict[str, dict[str, Any]]) -> None:
    assert seen["drafts"]["passed"]
    told = seen["drafts"]["told"]
    assert len(told) == 2
    assert "[calc.py:]\ndef add(a, b):\n    return a * b\n" in told[1]
    assert "[The project was checked after your change:\nTests failed" in told[1]


def test_a_large_model_is_not_checked(seen: dict[str, dict[str, Any]]) -> None:
    assert not seen["large"]["passed"]
    assert seen["large"]["told"] == ["Fix add in calc.py.", ""]
