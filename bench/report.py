"""Results of a measurement, compared with their budgets, and how they are printed."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Literal

import msgspec

from bench.samples import Samples

# A shared machine is noisy: a budget counts as missed only when it is missed by this factor.
MARGIN = 1.5

Unit = Literal["seconds", "per second", "bytes", "ratio"]


class Verdict(Enum):
    MET = "met"
    NEAR = "not met, within the margin for noise"
    MISSED = "MISSED"


class Budget(msgspec.Struct, frozen=True):
    kind: Literal["at most", "at least"]
    limit: float

    def verdict(self, value: float) -> Verdict:
        excess = value / self.limit if self.kind == "at most" else self.limit / value
        if excess <= 1:
            return Verdict.MET
        return Verdict.NEAR if excess <= MARGIN else Verdict.MISSED


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what was measured, in every round, and what it should be, if anything."""

    what: str
    samples: Samples
    unit: Unit
    budget: Budget | None = None

    @property
    def verdict(self) -> Verdict | None:
        return self.budget.verdict(self.samples.median) if self.budget else None


class Section(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


class MeasurementFailed(Exception):
    """Something under measurement did not do its work, so there is no number to tell."""


def ratio(what: str, samples: Samples, base: Samples, budget: Budget | None = None) -> Line:
    return Line(what=what, samples=samples.over(base), unit="ratio", budget=budget)


def print_section(section: Section) -> None:
    print(f"\n{section.title}")
    rows = [("", "median", "lowest", "highest", "budget"), *(_cells(line) for line in section.lines)]
    for line in _aligned(rows):
        print(f"  {line}")
    for note in section.notes:
        print(f"  {note}")


def _cells(line: Line) -> tuple[str, ...]:
    values = (line.samples.median, min(line.samples.values), max(line.samples.values))
    return (line.what, *(_formatted(value, line.unit) for value in values), _judged(line))


def _judged(line: Line) -> str:
    if line.budget is None or line.verdict is None:
        return ""
    sign = "≤" if line.budget.kind == "at most" else "≥"
    return f"{sign} {_formatted(line.budget.limit, line.unit)}  {line.verdict.value}"


def _formatted(value: float, unit: Unit) -> str:
    match unit:
        case "seconds" if value < 0.001:
            return f"{value * 1e6:.0f} µs"
        case "seconds" if value < 0.01:
            return f"{value * 1e3:.1f} ms"
        case "seconds":
            return f"{value * 1e3:.0f} ms"
        case "per second":
            return f"{value:,.0f}/s"
        case "bytes":
            return f"{value / 1e6:.1f} MB"
        case "ratio":
            return f"{value:.2f} ×"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for what, *values, budget in rows:
        figures = "  ".join(value.rjust(width) for value, width in zip(values, widths[1:-1], strict=True))
        yield f"{what.ljust(widths[0])}  {figures}  {budget}".rstrip()
