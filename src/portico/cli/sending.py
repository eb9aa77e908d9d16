"""What goes along with a prompt: files that flags attach, and links to files that its words mention."""

import argparse
import asyncio
from pathlib import Path

from msgspec import Raw

from portico.cli.arguments import Arguments, proper_text
from portico.config.paths import expanded
from portico.sessions.attachments import AttachedFile, attach
from portico.sessions.mentions import links_in


def add_attach_flag(parser: Arguments, help_text: str) -> None:
    parser.add_argument("--attach", metavar="FILE", action="append", default=[], help=help_text)


async def attached(flags: argparse.Namespace) -> tuple[Raw, ...]:
    """The files that the flags name, read now. InvalidInput for one that cannot be sent."""
    names = [proper_text(name, "The name of an attached file") for name in flags.attach]
    return await attach([AttachedFile(expanded(name).absolute()) for name in names])


async def mentioned(text: str, workspace: Path) -> tuple[Raw, ...]:
    """Links to the files of the workspace that the words of a prompt mention as @path."""
    return await asyncio.to_thread(links_in, text, workspace)
