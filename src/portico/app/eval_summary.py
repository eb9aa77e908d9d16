"""Summary of evaluation results by difficulty: success with its confidence interval, tokens, time, tool errors."""

import math
from collections.abc import Sequence
from typing import get_args

import msgspec

from portico.app.eval_runner import EvalResult
from portico.porter.evaluation.task import TaskDifficulty

_DEVIATIONS = 1.959964
"""Of the normal distribution, for a confidence of 95 %."""
ALL = "all"


class EvalSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The runs of a group of tasks. The share that passes lies between `low` and `high`, with 95 % confidence.

    Tokens, seconds and tool errors are means of a run.
    """

    group: str
    passed: int
    runs: int
    low: float
    high: float
    tokens: float
    seconds: float
    tool_errors: float

    def __str__(self) -> str:
        return (
            f"{self.group}: {self.passed} of {self.runs} runs passed, {self.passed / self.runs:.0%} "
            f"(95% confidence: {self.low:.0%} to {self.high:.0%}); per run {self.tokens:,.0f} tokens, "
            f"{self.seconds:.1f} s, {self.tool_errors:.1f} tool errors"
        )


def summarize(results: Sequence[EvalResult]) -> list[EvalSummary]:
    """Return a summary for each difficulty that occurs, and one for all results."""
    by_group: dict[str, list[EvalResult]] = {
        difficulty: [result for result in results if result.difficulty == difficulty]
        for difficulty in get_args(TaskDifficulty)
    }
    return [_summary(name, runs) for name, runs in {**by_group, ALL: list(results)}.items() if runs]


def wilson_interval(passed: int, runs: int) -> tuple[float, float]:
    """Return the interval of a share with 95 % confidence, by Wilson's score: it holds for few runs as well."""
    share, square = passed / runs, _DEVIATIONS**2
    middle = (share + square / (2 * runs)) / (1 + square / runs)
    half = _DEVIATIONS * math.sqrt(share * (1 - share) / runs + square / (4 * runs**2)) / (1 + square / runs)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _summary(group: str, runs: Sequence[EvalResult]) -> EvalSummary:
    passed = sum(run.passed for run in runs)
    low, high = wilson_interval(passed, len(runs))
    return EvalSummary(
        group=group,
        passed=passed,
        runs=len(runs),
        low=round(low, 4),
        high=round(high, 4),
        tokens=sum(run.tokens for run in runs) / len(runs),
        seconds=round(sum(run.seconds for run in runs) / len(runs), 3),
        tool_errors=sum(run.tool_errors for run in runs) / len(runs),
    )
