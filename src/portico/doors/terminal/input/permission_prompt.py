"""Permission prompt on the terminal: one key answers.

The renderer shows the request. Keys count only after they were shown and the keyboard was quiet for a moment, so that
what a person is typing when a request appears never answers it. No answer is None, which the caller treats as a denial.
"""

import asyncio
import os
import sys
from collections.abc import Callable

from portico.domain.events import PermissionRequested
from portico.doors.terminal.input.line_reader import LineReader, terminal_lines
from portico.doors.terminal.input.terminal_mode import echo, single_keys
from portico.doors.terminal.output import make_writer
from portico.doors.terminal.permission_keys import KeyedOption, find_keyed_option, key_hint, keyed_options
from portico.sessions.requests.permissions import PermissionReply

QUIET_SECONDS = 0.3
"""Time without a key press before the request can be answered."""
_END_OF_INPUT = "\x04"
_MOST_KEYS = 9
"""Most options that one key each can name."""


async def ask_permission(
    request: PermissionRequested,
    *,
    lines: LineReader | None = None,
    write: Callable[[str], None] | None = None,
) -> PermissionReply | None:
    """The person's decision; None without an answer or a terminal."""
    source = lines or terminal_lines()
    if source is None or not request.options:
        return None
    try:
        keyed = await _choose(request, source, write or make_writer(sys.stderr))
    finally:
        if source is not lines:
            source.close()
    if keyed is None:
        return None
    rule = request.rule if keyed.scope != "once" else None
    return PermissionReply(option_id=keyed.option_id, by="person", scope=keyed.scope, rule=rule)


async def _choose(
    request: PermissionRequested, source: LineReader, write: Callable[[str], None]
) -> KeyedOption | None:
    takes_keys = sys.platform != "win32" and os.isatty(source.descriptor)
    if takes_keys and len(keyed_options(request)) <= _MOST_KEYS:
        with single_keys(source.descriptor):
            return await _choose_by_key(request, source, write)
    with echo(source.descriptor, shown=True):
        return await _choose_by_line(request, source, write)


async def _choose_by_key(
    request: PermissionRequested, source: LineReader, write: Callable[[str], None]
) -> KeyedOption | None:
    keys = key_hint(request)
    await _until_quiet(source)
    keyed = None
    write(f"  {keys} ? ")
    try:
        while keyed is None:
            typed = await source.read_keys()
            if typed is None or typed.startswith(_END_OF_INPUT):
                break
            keyed = find_keyed_option(request, typed)
            if keyed is None and typed.strip():
                write(f"\n  Press {keys.replace('/', ', ')} or a number.\n  {keys} ? ")
    finally:
        write(f"{(keyed.letter or keyed.number) if keyed else ''}\n")
    return keyed


async def _until_quiet(source: LineReader) -> None:
    """Discard keys until none has come for a moment."""
    source.discard_typed_ahead()
    while True:
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                if await source.read_keys() is None:
                    return
        except TimeoutError:
            # A key may have come at the very moment that the read was given up.
            source.discard_typed_ahead()
            return


async def _choose_by_line(
    request: PermissionRequested, source: LineReader, write: Callable[[str], None]
) -> KeyedOption | None:
    keys = key_hint(request)
    source.discard_typed_ahead()
    fresh_line = False
    try:
        while True:
            write(f"  {keys} ? ")
            fresh_line = False
            typed = await source.read_line()
            if typed is None:
                return None
            fresh_line = True
            keyed = find_keyed_option(request, typed)
            if keyed is not None:
                return keyed
            write(f"  Please answer with {keys.replace('/', ', ')} or a number.\n")
    finally:
        if not fresh_line:
            write("\n")
