"""The summary of an evaluation: success by difficulty, with confidence intervals."""

import pytest

from portico.app.eval_runner import EvalResult
from portico.app.eval_summary import summarize, wilson_interval
from portico.porter.evaluation.task import TaskDifficulty


def result(difficulty: TaskDifficulty, *, passed: bool) -> EvalResult:
    return EvalResult(
        task="t",
        repetition=1,
        difficulty=difficulty,
        passed=passed,
        words="",
        turns=1,
        steps=2,
        tokens=1000,
        tool_errors=1,
        cost=None,
        seconds=2.0,
    )


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 100, 0.7222, 0.8749)],
)
def test_the_interval_is_that_of_wilson(passed: int, runs: int, low: float, high: float) -> None:
    assert wilson_interval(passed, runs) == pytest.approx((low, high), abs=1e-4)


def test_results_are_grouped_by_difficulty() -> None:
    runs = [result("easy", passed=True)] * 3 + [result("hard", passed=False)]
    easy, hard, everything = summarize(runs)
    assert [easy.group, hard.group, everything.group] == ["easy", "hard", "all"]
    assert (everything.passed, everything.runs) == (3, 4)
    assert str(easy) == (
        "easy: 3 of 3 runs passed, 100% (95% confidence: 44% to 100%); per run 1,000 tokens, 2.0 s, 1.0 tool errors"
    )
