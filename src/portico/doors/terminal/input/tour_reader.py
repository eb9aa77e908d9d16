"""Reader of a tour in the terminal: shows one step at a time and moves as the person asks."""

import sys
from collections.abc import Callable
from typing import TextIO

from portico.domain.tours import Tour
from portico.doors.terminal.input.line_reader import LineReader
from portico.doors.terminal.input.terminal_mode import echo
from portico.doors.terminal.output import is_plain_output, make_writer
from portico.doors.terminal.tour_labels import step_lines

_HINT = "Enter next, b back, a number, q quit"


def print_step(tour: Tour, number: int, *, term: str, output: TextIO | None = None) -> None:
    """Print one step. `number` counts from 1."""
    output = output or sys.stdout
    if is_plain_output(output, term):
        make_writer(output)("".join(f"  {line}\n" for line in step_lines(tour, number)))
        return
    from rich.console import Console

    from portico.doors.terminal.render.tour_cards import tour_step
    from portico.doors.terminal.theme import signs_for

    console = Console(file=output, highlight=False, markup=False, emoji=False)
    console.print(tour_step(tour, number, signs_for(console.encoding)))


async def read_tour_steps(
    tour: Tour, number: int, lines: LineReader, show: Callable[[int], None], write: Callable[[str], None]
) -> None:
    """Show steps from a first one on, until the person has seen the last or wants no more."""
    with echo(lines.descriptor, shown=True):
        while True:
            show(number)
            if number == len(tour.steps) == 1:
                return
            wanted = None
            while wanted is None:
                write(f"  {number} of {len(tour.steps)}. {_HINT}: ")
                typed = await lines.read_line()
                if typed is None:
                    write("\n")
                    return
                wanted = _next_step(typed.strip().lower(), number, len(tour.steps))
            if wanted == 0:
                return
            number = wanted


def _next_step(typed: str, number: int, last: int) -> int | None:
    """The step to show next; 0 to stop, None if what was typed means nothing."""
    if typed in ("", "n", "next"):
        return number + 1 if number < last else 0
    if typed in ("b", "back"):
        return max(number - 1, 1)
    if typed in ("q", "quit"):
        return 0
    return int(typed) if typed.isdecimal() and 1 <= int(typed) <= last else None
