"""Attachments of a prompt: files named by `--attach`, and links to files mentioned as @path."""

import argparse
import asyncio
from pathlib import Path

from msgspec import Raw

from portico.cli.arguments import CommandParser, require_utf8
from portico.config.paths import expand_user_path
from portico.sessions.content.attachments import AttachedFile, read_attachments
from portico.sessions.content.mentions import links_in


def add_attach_flag(parser: CommandParser, help_text: str) -> None:
    parser.add_argument("--attach", metavar="FILE", action="append", default=[], help=help_text)


async def read_attachment_flags(flags: argparse.Namespace) -> tuple[Raw, ...]:
    """The files that the flags name, read now. InvalidInput for one that cannot be sent."""
    if not flags.attach:
        return ()
    names = [require_utf8(name, "The name of an attached file") for name in flags.attach]
    return await read_attachments([AttachedFile(expand_user_path(name).absolute()) for name in names])


async def mention_links(text: str, workspace: Path) -> tuple[Raw, ...]:
    """Links to the files of the workspace that the words of a prompt mention as @path."""
    return await asyncio.to_thread(links_in, text, workspace) if "@" in text else ()
