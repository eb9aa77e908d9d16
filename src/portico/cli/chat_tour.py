"""The chat command `/tour`: shows the last tour of the session step by step, and keeps it as a file."""

import os
import sys
from functools import partial
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.domain.events import ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.ids import SessionId
from portico.domain.tours import Tour, file_name, read_tour, to_code_tour
from portico.doors.terminal.input.line_reader import terminal_lines
from portico.doors.terminal.input.tour_reader import print_step, read_tour_steps
from portico.doors.terminal.output import make_writer
from portico.files import real_path
from portico.files.deadline import within_deadline
from portico.sessions.ports import Store
from portico.sessions.requests.approver import is_interactive

COMMAND = "/tour"
KEEP = "keep"
_PAGE = 500
_PAGES = 20


async def run_tour(words: str, store: Store, session_id: SessionId, workspace: Path, term: str) -> None:
    """Run the command: without words from the first step on, with a number from that one on."""
    tour = await _last_tour(store, session_id)
    if words == KEEP:
        print(f"  Kept as {await within_deadline(lambda: _keep(tour, workspace))}.")
        return
    number = int(words) if words.isdecimal() else 1
    if (words and not words.isdecimal()) or not 1 <= number <= len(tour.steps):
        raise InvalidInput(
            f"{COMMAND} {words}: the tour has steps 1 to {len(tour.steps)}.",
            suggestion=f"{COMMAND} {KEEP} keeps it as a CodeTour file.",
        )
    lines = terminal_lines() if is_interactive() else None
    if lines is None:
        print_step(tour, number, term=term)
        return
    try:
        await read_tour_steps(
            tour, number, lines, partial(print_step, tour, term=term), make_writer(sys.stderr)
        )
    finally:
        lines.close()


async def _last_tour(store: Store, session_id: SessionId) -> Tour:
    before: int | None = None
    for _ in range(_PAGES):
        events = await store.tail(session_id, before_seq=before, limit=_PAGE)
        for event in reversed(events):
            if isinstance(event.payload, ToolStarted | ToolUpdated | ToolCompleted):
                tour = read_tour(event.payload.output)
                if tour is not None:
                    return tour
        if len(events) < _PAGE:
            break
        before = events[0].seq
    raise InvalidInput(
        "This session has no tour.", suggestion="Ask the agent to explain something in a tour."
    )


def _keep(tour: Tour, workspace: Path) -> str:
    name = file_name(tour)
    path = Path(os.path.realpath(workspace)) / name
    try:
        if real_path.exists(path):
            raise InvalidInput(f"{name} already exists.", suggestion="Rename or delete it first.")
        real_path.replace_content(path, to_code_tour(tour))
    except OSError as error:
        raise InvalidInput(f"{name} cannot be written: {error.strerror}.") from error
    return name
