"""What is said of a program that is gone, or silent: how it ended, and the end of its error output."""

import asyncio

from portico.sessions.ports import AgentProcess

_LONGEST = 500
_WAIT_SECONDS = 2.0


def last_words(process: AgentProcess) -> str:
    """A sentence to put after others, or nothing."""
    words = process.stderr_tail().strip()
    return f" Its last words: {words[-_LONGEST:]}" if words else ""


async def obituary(process: AgentProcess) -> str:
    """How a program went that closed its output; it may be slow to end, or never do."""
    try:
        async with asyncio.timeout(_WAIT_SECONDS):
            how = f"ended with {await process.wait()}"
    except TimeoutError:
        how = "closed its output but is still running"
    return f"It {how}.{last_words(process)}"
