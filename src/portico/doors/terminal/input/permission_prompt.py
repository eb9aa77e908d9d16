"""Permission prompt on the terminal: reads one of the offered answers.

The renderer shows the request. No answer is None, which the caller treats as a denial.
"""

import sys
from collections.abc import Callable

from portico.domain.events import PermissionRequested
from portico.doors.terminal.input.line_reader import LineReader, terminal_lines
from portico.doors.terminal.input.terminal_mode import echo
from portico.doors.terminal.output import make_writer
from portico.doors.terminal.permission_keys import find_keyed_option, key_hint
from portico.sessions.requests.permissions import PermissionReply


async def ask_permission(
    request: PermissionRequested,
    *,
    lines: LineReader | None = None,
    write: Callable[[str], None] | None = None,
) -> PermissionReply | None:
    """The person's decision; None without an answer or a terminal.

    What was typed before is ignored.
    """
    source = lines or terminal_lines()
    if source is None or not request.options:
        return None
    try:
        with echo(source.descriptor, shown=True):
            return await _answer(request, source, write or make_writer(sys.stderr))
    finally:
        if source is not lines:
            source.close()


async def _answer(
    request: PermissionRequested, lines: LineReader, write: Callable[[str], None]
) -> PermissionReply | None:
    keys = key_hint(request)
    lines.discard_typed_ahead()
    fresh_line = False
    try:
        while True:
            write(f"  {keys} ? ")
            fresh_line = False
            typed = await lines.read_line()
            if typed is None:
                return None
            fresh_line = True
            keyed = find_keyed_option(request, typed)
            if keyed is not None:
                rule = request.rule if keyed.scope != "once" else None
                return PermissionReply(option_id=keyed.option_id, by="person", scope=keyed.scope, rule=rule)
            write(f"  Please answer with {keys.replace('/', ', ')} or a number.\n")
    finally:
        if not fresh_line:
            write("\n")
