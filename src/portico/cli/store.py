"""`portico store`: copy the log of all sessions from one store to another."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

import msgspec

from portico.app.event_log import event_log
from portico.cli.arguments import CommandGroup, print_json
from portico.domain.errors import StoreFailed
from portico.store.transfer import TransferReport, copy_all

_PLACE = "a state folder, or postgresql://USER@HOST/DATABASE"


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("store", "Storage of the log of all sessions.")
    copy = group.add("copy", "copy all sessions; run it again to continue or to catch up", _copy)
    copy.add_argument("source", metavar="FROM", help=_PLACE)
    copy.add_argument("target", metavar="TO", help=_PLACE)
    return group.run(arguments)


def _copy(flags: argparse.Namespace) -> int:
    report = asyncio.run(_transfer(flags.source, flags.target, quiet=flags.api))
    if report.problems:
        left_out = "\n".join(f"Not copied: {problem}" for problem in report.problems)
        raise StoreFailed(
            f"{_described(report)}; left out: {len(report.problems):,}\n{left_out}",
            suggestion="A session that was continued in both places can be kept in only one of them. Delete it in the other.",
        )
    if flags.api:
        print_json(**msgspec.to_builtins(report))
    else:
        print(_described(report))
    return 0


async def _transfer(source: str, target: str, *, quiet: bool) -> TransferReport:
    shows = not quiet and sys.stderr.isatty()

    def show(report: TransferReport) -> None:
        if shows:
            print(f"\r{_described(report)} …", end="", file=sys.stderr, flush=True)

    origin, copy = event_log(source, os.environ), event_log(target, os.environ)
    await origin.open()
    try:
        await copy.open()
        try:
            return await copy_all(origin, copy, show)
        finally:
            await copy.close()
            if shows:
                print(file=sys.stderr)
    finally:
        await origin.close()


def _described(report: TransferReport) -> str:
    return f"Sessions copied: {report.sessions:,} ({report.events:,} events); already there: {report.unchanged:,}"
