"""Tours as lines of plain text. Safe to print."""

from collections.abc import Iterator

from portico.domain.tours import Tour, TourStep
from portico.doors.terminal.labels import pluralize
from portico.doors.terminal.sanitizer import clean, clean_line


def tour_title(tour: Tour) -> str:
    return f"{clean_line(tour.title)} ({pluralize(len(tour.steps), 'step')})"


def step_place(step: TourStep) -> str:
    path = clean_line(step.path)
    return f"{path}:{step.line}" if step.line else path


def excerpt_lines(step: TourStep) -> Iterator[tuple[int, str]]:
    """The numbered lines of the code that a step shows."""
    if step.excerpt is not None:
        yield from enumerate(clean(step.excerpt.text).expandtabs(4).split("\n"), step.excerpt.line)


def step_lines(tour: Tour, number: int) -> Iterator[str]:
    """One step: its place, the code there and the explanation. `number` counts from 1."""
    step = tour.steps[number - 1]
    yield f"{clean_line(tour.title)}: step {number} of {len(tour.steps)}, {step_place(step)}"
    if step.problem:
        yield clean_line(step.problem)
    for line, text in excerpt_lines(step):
        yield f"{'>' if line == step.line else ' '} {line:>4}  {text}"
    yield from clean(step.text).split("\n")
