"""Lines about the problems that a tool call added and removed."""

from collections.abc import Iterator, Sequence

from portico.domain.events import Event, ToolUpdated
from portico.domain.problems import FileProblems
from portico.doors.terminal import labels
from portico.doors.terminal.sanitizer import clean_line

MOST_LINES = 8
_LONGEST = 300


def late_problem_lines(event: Event, workspace: str) -> list[str]:
    """Lines about the problems of a finished tool call; nothing for any other event."""
    payload = event.payload
    return problem_lines(payload.problems or (), workspace) if isinstance(payload, ToolUpdated) else []


def problem_lines(files: Sequence[FileProblems], workspace: str) -> list[str]:
    """New problems, one on each line, then how many are solved; none for no files."""
    lines = list(_added(files, workspace))
    shown = lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        shown.append(f"… and {labels.pluralize(len(lines) - MOST_LINES, 'more problem')}")
    return [*shown, *_solved(files, workspace)]


def _added(files: Sequence[FileProblems], workspace: str) -> Iterator[str]:
    for file in files:
        path = labels.short_path(file.path, workspace)
        for one in file.added:
            yield f"new {one.severity}: {path}:{one.line}  {clean_line(one.message)}"[:_LONGEST]


def _solved(files: Sequence[FileProblems], workspace: str) -> Iterator[str]:
    for file in files:
        if file.removed:
            count = labels.pluralize(len(file.removed), "problem")
            yield f"{count} solved: {labels.short_path(file.path, workspace)}"
