"""Asks a person at the terminal whether something is to be done for good."""

import sys

from portico.doors.terminal.lines import LineReader


async def is_sure(question: str) -> bool:
    """Whether the person says yes. The end of input is a no; Ctrl-C ends the command at once."""
    print(f"{question} [y/N] ", end="", flush=True)
    answer = await LineReader(sys.stdin.fileno()).read_line()
    if answer is None:
        print()
    return (answer or "").strip().lower() in ("y", "yes")
