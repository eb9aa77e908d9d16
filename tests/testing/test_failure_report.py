"""The output of a failed test says why it failed."""

import sys
from pathlib import Path
from subprocess import run

from tests.support.failure_report import SNAPSHOT_LINES, shorten_snapshots

ROOT = Path(__file__).parents[2]
WIDE = """
import pytest

from tests.support.failure_report import widen

pytest_configure = pytest.hookimpl(trylast=True)(lambda config: widen(config))
"""
FAILING = """
def test_with_a_name_that_is_about_as_long_as_many_of_ours_because_names_here_are_whole_sentences():
    raise AssertionError("the reason, which stands behind the name")
"""


def test_a_page_in_a_failure_is_cut_and_its_reason_stays() -> None:
    page = "\n".join(f"- row {number}" for number in range(500))
    cause = AssertionError(f"Locator expected to be visible\nCall log: one\nAria snapshot:\n{page}")
    error = RuntimeError("gave up")
    error.__cause__ = cause
    shorten_snapshots(error)
    lines = str(cause).splitlines()
    assert lines[:3] == ["Locator expected to be visible", "Call log: one", "Aria snapshot:"]
    assert lines[-1] == f"… {500 - SNAPSHOT_LINES} more lines"
    assert len(lines) == 3 + SNAPSHOT_LINES + 1


def test_other_failures_and_short_pages_stay_as_they_are() -> None:
    for text in ("assert 1 == 2", "not visible\nAria snapshot:\n- button"):
        error = AssertionError(text)
        shorten_snapshots(error)
        assert str(error) == text


def test_the_summary_of_a_run_that_is_piped_tells_the_reason(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(WIDE)
    (tmp_path / "test_one.py").write_text(FAILING)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    environ = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80"}
    done = run(
        [*words, str(tmp_path)], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    (summary,) = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert summary.endswith("AssertionError: the reason, which stands behind the name")
