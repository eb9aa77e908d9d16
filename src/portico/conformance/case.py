"""A conformance case: one rule of the protocol, where it is written, and the check that tries it on a program."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Generic, Literal, TypeVar

import msgspec

from portico.conformance.dialogue import RecordedFrame

Trial = TypeVar("Trial")

PROTOCOL_PAGES = "https://agentclientprotocol.com/protocol/v1"


class Level(StrEnum):
    """Level of a rule: mandatory, only if the program announces the capability, or advice."""

    MANDATORY = "mandatory"
    CAPABILITY = "capability"
    ADVISORY = "advisory"


class Violation(Exception):
    """The program broke the rule of a case. `frames` is the evidence; without any, all frames of the case are."""

    def __init__(self, problem: str, frames: tuple[RecordedFrame, ...] = ()) -> None:
        super().__init__(problem)
        self.frames = frames


class Blocked(Exception):
    """The case could not be tried, for a reason outside of its rule, such as a missing sign-in."""


class NotExercised(Exception):
    """The program never did what the rule is about, so there was nothing to judge."""


class NotAnnounced(Exception):
    """The program does not announce the capability that the rule is about."""


Check = Callable[[Trial], Awaitable[str | None]]
"""Raises Violation, Blocked, NotExercised or NotAnnounced, or returns an optional note about a case that passed."""


class Case(msgspec.Struct, Generic[Trial], frozen=True):
    id: str
    level: Level
    rule: str
    source: str
    check: Check[Trial]


class CaseList(Generic[Trial]):
    """Cases of one module, in the order they are tried; the docstring of a check is the rule."""

    def __init__(self) -> None:
        self.cases: list[Case[Trial]] = []

    def add(self, case_id: str, level: Level, source: str) -> Callable[[Check[Trial]], Check[Trial]]:
        """Decorate a check. `source` is a page of the protocol's documents, with its section."""

        def keep(check: Check[Trial]) -> Check[Trial]:
            rule = " ".join((check.__doc__ or "").split())
            page = source if "://" in source else f"{PROTOCOL_PAGES}/{source}"
            self.cases.append(Case(case_id, level, rule, page, check))
            return check

        return keep


Status = Literal["passed", "failed", "known failure", "not announced", "not exercised", "blocked"]
STATUSES: tuple[Status, ...] = (
    "failed",
    "blocked",
    "known failure",
    "passed",
    "not exercised",
    "not announced",
)


class CaseResult(msgspec.Struct, frozen=True):
    id: str
    level: Level
    status: Status
    rule: str
    source: str
    reason: str
    seconds: float
    frames: tuple[RecordedFrame, ...] = ()

    @property
    def counts_against(self) -> bool:
        """Whether this result keeps the program from being called conformant."""
        return self.status in ("failed", "blocked") and self.level is not Level.ADVISORY
