"""Describes how an agent or proxy process ended, with the end of its error output."""

import asyncio

from portico.sessions.ports import AgentProcess

_LONGEST = 500
_WAIT_SECONDS = 2.0


def stderr_note(process: AgentProcess) -> str:
    """A sentence with the end of the error output, or an empty string."""
    words = process.stderr_tail().strip()
    return f" Its last output: {words[-_LONGEST:]}" if words else ""


async def describe_exit(process: AgentProcess) -> str:
    """A sentence on how a program ended after it closed its output; it may still be running."""
    try:
        async with asyncio.timeout(_WAIT_SECONDS):
            how = f"ended with {await process.wait()}"
    except TimeoutError:
        how = "closed its output but is still running"
    return f"It {how}.{stderr_note(process)}"
