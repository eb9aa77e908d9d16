"""Tours: explanations at places in the code, as a tool call has them in its output, and as CodeTour files.

Any tool call whose output is `{"tour": …}` is shown as a tour, also one by an agent itself.
"""

import re
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.domain import codecs

FOLDER = ".tours"
_SCHEMA = "https://aka.ms/codetour-schema"
_LONGEST_NAME = 60


class CodeExcerpt(msgspec.Struct, frozen=True):
    """Lines of a file as they were when the tour was made. `line` is the number of the first one."""

    line: int
    text: str


class TourStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`line` counts from 1; 0 where the place was not found, and `problem` says why."""

    path: str
    text: str
    line: int = 0
    symbol: str = ""
    excerpt: CodeExcerpt | None = None
    problem: str = ""


class Tour(msgspec.Struct, frozen=True):
    title: str
    steps: tuple[TourStep, ...]


class TourOutput(msgspec.Struct, frozen=True):
    """The output of a tool call that presents a tour."""

    tour: Tour


def read_tour(output: Raw | UnsetType) -> Tour | None:
    """The tour in the output of a tool call; None if it is something else."""
    if isinstance(output, UnsetType) or b'"tour"' not in bytes(output):
        return None
    try:
        tour = codecs.decode_json(output, TourOutput).tour
    except msgspec.DecodeError:
        return None
    return tour if tour.steps else None


def file_name(tour: Tour) -> str:
    """The name under which a tour is kept in the folder of a workspace."""
    words = re.sub(r"[^a-z0-9]+", "-", tour.title.casefold()).strip("-")
    return f"{FOLDER}/{words[:_LONGEST_NAME].strip('-') or 'tour'}.tour"


def to_code_tour(tour: Tour) -> bytes:
    """The text of a CodeTour file."""
    document = {
        "$schema": _SCHEMA,
        "title": tour.title,
        "steps": [_code_tour_step(one) for one in tour.steps],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _code_tour_step(step: TourStep) -> dict[str, Any]:
    """A place that has a symbol is kept by the text of its line, which CodeTour looks for when lines have moved."""
    place: dict[str, Any] = {}
    text = anchor(step)
    if step.symbol and text:
        place = {"pattern": f"^[^\\S\\n]*{re.escape(text)}"}
    elif step.line:
        place = {"line": step.line}
    return {"file": step.path, **place, "description": step.text}


def anchor(step: TourStep) -> str:
    """The text of the line that the step is about, without indentation; empty if it is not known."""
    if step.excerpt is None or not step.line:
        return ""
    lines = step.excerpt.text.split("\n")
    index = step.line - step.excerpt.line
    return lines[index].strip() if 0 <= index < len(lines) else ""
