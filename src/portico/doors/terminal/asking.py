"""Asks the person at the terminal for a permission, with the agent's own answers and no other.

The renderer shows what is asked; here is only the answer. No answer is None, and the caller
takes that for a denial.
"""

import sys
from collections.abc import Callable

from portico.domain.events import PermissionRequested
from portico.doors.terminal.echo import echo
from portico.doors.terminal.lines import LineReader, terminal_lines
from portico.doors.terminal.permission_keys import chosen, keys_in_words
from portico.doors.terminal.renderers import writer
from portico.sessions.permissions import Decision


async def ask_person(
    request: PermissionRequested,
    *,
    lines: LineReader | None = None,
    write: Callable[[str], None] | None = None,
) -> Decision | None:
    """What the person decided; None when they gave no answer, or there is nobody.

    Cancelling it withdraws the question. What was typed before it was asked does not count.
    """
    source = lines or terminal_lines()
    if source is None or not request.options:
        return None
    try:
        with echo(source.descriptor, shown=True):
            return await _answer(request, source, write or writer(sys.stderr))
    finally:
        if source is not lines:
            source.close()


async def _answer(
    request: PermissionRequested, lines: LineReader, write: Callable[[str], None]
) -> Decision | None:
    keys = keys_in_words(request)
    lines.drop_typed_ahead()
    fresh_line = False
    try:
        while True:
            write(f"  {keys} ? ")
            fresh_line = False
            typed = await lines.read_line()
            if typed is None:
                return None
            fresh_line = True
            keyed = chosen(request, typed)
            if keyed is not None:
                rule = request.rule if keyed.scope != "once" else None
                return Decision(option_id=keyed.option_id, by="person", scope=keyed.scope, rule=rule)
            write(f"  Please answer with {keys.replace('/', ', ')} or a number.\n")
    finally:
        if not fresh_line:
            write("\n")
