"""Yes-or-no question to the person at the terminal."""

import sys

from portico.doors.terminal.input.line_reader import LineReader


async def confirm(question: str) -> bool:
    """Whether the person answers yes. The end of input is a no; Ctrl-C ends the command.

    Asks on standard error, since standard output may be redirected. What was typed before is ignored.
    """
    lines = LineReader(sys.stdin.fileno())
    lines.discard_typed_ahead()
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    answer = await lines.read_line()
    if answer is None:
        print(file=sys.stderr)
    return (answer or "").strip().lower() in ("y", "yes")
