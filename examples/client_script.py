"""Send a prompt to an agent through the user's server, and print what happens.

python examples/client_script.py "Explain this folder"

Permission requests are answered at the terminal. Changes are collected in a proposal, which is applied at the end.
"""

import asyncio
import sys
from pathlib import Path

from portico.client import (
    Client,
    ErrorReported,
    PermissionRequested,
    PorticoError,
    TextDelta,
    ToolStarted,
    connect,
)


async def run(client: Client, prompt: str) -> None:
    session = await client.start_session(Path.cwd(), mode="proposal")
    async for event in session.prompt(prompt):
        match event.payload:
            case TextDelta(text=text):
                print(text, end="", flush=True)
            case ToolStarted(title=title):
                print(f"\n[{title}]")
            case PermissionRequested() as request:
                reply = await asyncio.to_thread(input, f"\nAllow “{request.title}”? [y/n] ")
                await session.decide(request, "allow_once" if reply == "y" else "reject_once")
            case ErrorReported(message=message):
                print(f"\nerror: {message}")
    for proposal in await session.proposals():
        report = await session.apply(proposal)
        if report.conflicted:
            print(f"\nnot applied, conflicts in: {', '.join(report.conflicted)}")
        else:
            print(f"\napplied: {', '.join(file.path for file in proposal.files)}")


async def main(prompt: str) -> None:
    async with connect(start=True) as client:
        await run(client, prompt)


if __name__ == "__main__":
    try:
        asyncio.run(main(" ".join(sys.argv[1:]) or "/help"))
    except PorticoError as error:
        sys.exit(f"{error.message} {error.suggestion or ''}")
