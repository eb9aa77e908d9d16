"""Rich renderables for tours: the list of their steps, and one step with its code."""

from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.text import Text

from portico.domain.tours import Tour, TourStep
from portico.doors.terminal.labels import pluralize
from portico.doors.terminal.layout import PrefixedLines, barred
from portico.doors.terminal.markdown.highlighter import highlight
from portico.doors.terminal.markdown.stream import StreamedMarkdown
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import ACCENT, CAUTION, DIM, STRONG, Signs
from portico.doors.terminal.tour_labels import excerpt_lines, step_place


def tour_overview(tour: Tour, signs: Signs) -> RenderableType:
    """The title, and a line for each step."""
    title = Text.assemble(
        (clean_line(tour.title), STRONG), (f"  {pluralize(len(tour.steps), 'step')}", DIM), overflow="fold"
    )
    rows: list[RenderableType] = [title]
    width = len(str(len(tour.steps)))
    for number, step in enumerate(tour.steps, 1):
        row = Text.assemble(step_place(step), ("  " + clean_line(step.problem or step.text), DIM))
        row.no_wrap, row.overflow = True, "ellipsis"
        rows.append(PrefixedLines(row, f"{number:>{width}}  ", CAUTION if step.problem else ACCENT))
    rows.append(Text("/tour shows it step by step", DIM))
    return barred(Group(*rows), signs.bar, ACCENT)


def tour_step(tour: Tour, number: int, signs: Signs) -> RenderableType:
    """One step: its place, the code there and the explanation. `number` counts from 1."""
    step = tour.steps[number - 1]
    head = Text.assemble(
        (f"{number}/{len(tour.steps)} ", ACCENT),
        (step_place(step), STRONG),
        (f"  {clean_line(tour.title)}", DIM),
    )
    head.no_wrap, head.overflow = True, "ellipsis"
    parts: list[RenderableType] = [head]
    if step.problem:
        parts.append(Text(clean_line(step.problem), CAUTION))
    if step.excerpt is not None:
        parts += [Text(), *_code(step), Text()]
    markdown = StreamedMarkdown(signs, links=False)
    parts += [*markdown.add(step.text), *markdown.close()]
    return barred(Group(*parts), signs.bar, ACCENT)


def _code(step: TourStep) -> list[RenderableType]:
    numbered = list(excerpt_lines(step))
    language = PurePath(step.path).suffix.removeprefix(".")
    painted, _ = highlight("\n".join(text for _, text in numbered), language)
    width = len(str(numbered[-1][0]))
    rows: list[RenderableType] = []
    for (number, _), text in zip(numbered, painted.split("\n", allow_blank=True), strict=False):
        here = number == step.line
        mark = Text.assemble((f"{'>' if here else ' '} {number:>{width}}  ", ACCENT if here else DIM))
        row = mark + text
        row.no_wrap, row.overflow = True, "ellipsis"
        rows.append(row)
    return rows
