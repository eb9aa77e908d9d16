"""Runs cases one after another and turns what each raises into a result."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, TypeVar

import msgspec

from portico.conformance.case import (
    Blocked,
    Case,
    CaseResult,
    NotAnnounced,
    NotExercised,
    Status,
    Violation,
)
from portico.conformance.dialogue import RecordedFrame
from portico.conformance.trial import Trial
from portico.processes.executables import CannotRun
from portico.rpc.messages import ConnectionLost

_MOST_FRAMES = 60
"""Number of last frames of a case that a result keeps."""


AnyTrial = TypeVar("AnyTrial", bound=Trial[Any])


class Run(msgspec.Struct, frozen=True):
    """The results of all cases, and how long they took."""

    results: tuple[CaseResult, ...]
    seconds: float

    @property
    def conforms(self) -> bool:
        return not any(result.counts_against for result in self.results)

    def count(self, status: Status) -> int:
        return sum(result.status == status for result in self.results)


async def run_cases(
    trial: AnyTrial,
    cases: Iterable[Case[AnyTrial]],
    *,
    known: frozenset[str] = frozenset(),
    report: Callable[[CaseResult], None] = lambda _result: None,
) -> Run:
    """Try each case. Failures whose id is in `known` are known failures."""
    start = monotonic()
    results = []
    for case in cases:
        result = await _try(trial, case)
        if result.status in ("failed", "blocked") and result.id in known:
            result = msgspec.structs.replace(result, status="known failure")
        results.append(result)
        report(result)
    return Run(tuple(results), round(monotonic() - start, 2))


async def _try(trial: AnyTrial, case: Case[AnyTrial]) -> CaseResult:
    start = monotonic()
    before = {(frame.connection, frame.number) for frame in trial.frames}
    status: Status = "passed"
    healthy = True
    evidence: tuple[RecordedFrame, ...] = ()
    try:
        async with trial.deadline.limit():
            reason = await case.check(trial) or ""
    except Violation as error:
        status, reason, evidence = "failed", str(error), error.frames
    except ConnectionLost as error:
        status, reason, healthy = "failed", f"The connection was lost: {error}.", False
    except TimeoutError:
        waited = ", ".join(trial.unanswered) or "anything"
        status, reason, healthy = "failed", f"No answer to {waited} in time.", False
    except msgspec.ValidationError as error:
        status, reason = "failed", f"A message does not fit the protocol: {error}"
    except (Blocked, CannotRun) as error:
        status, reason = "blocked", str(error)
    except NotExercised as error:
        status, reason = "not exercised", str(error)
    except NotAnnounced as error:
        status, reason = "not announced", str(error)
    if status == "failed" and not evidence:
        new = [frame for frame in trial.frames if (frame.connection, frame.number) not in before]
        evidence = tuple(new[-_MOST_FRAMES:])
    await trial.end_case(healthy=healthy)
    seconds = round(monotonic() - start, 3)
    return CaseResult(case.id, case.level, status, case.rule, case.source, reason, seconds, evidence)
