"""`portico checkpoints`: list, compare and restore the files as they were before each turn."""

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence

import msgspec

from portico.cli.arguments import CommandParser
from portico.cli.review_sessions import ReviewTarget, add_review_session_flags, reviewed_session
from portico.domain.errors import InvalidInput
from portico.domain.events import format_time
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.review.printer import ReviewPrinter

_DESCRIPTION = """The files as they were before each turn, and the way back to them.

  portico checkpoints list
  portico checkpoints diff ID [ID]      what changed since, or between two
  portico checkpoints restore ID        your own changes since come back as a proposal
"""
_LISTED = 30


class ListedCheckpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A checkpoint as `--api` shows it."""

    checkpoint_id: str
    at: str
    label: str
    moment: str
    left_out: int


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("checkpoints", _DESCRIPTION)
    parser.add_argument("action", choices=["list", "diff", "restore"])
    parser.add_argument(
        "words", nargs="*", default=[], metavar="ID", help="a checkpoint; a unique beginning will do"
    )
    parser.add_argument("--stat", action="store_true", help="show the list of files instead of the patch")
    parser.add_argument("--all", action="store_true", help=f"list all of them, not the newest {_LISTED}")
    add_review_session_flags(parser)
    flags = parser.parse_intermixed_args(arguments)
    expected = {"list": (0,), "diff": (1, 2), "restore": (1,)}[flags.action]
    if len(flags.words) not in expected:
        raise InvalidInput(
            f"portico checkpoints {flags.action} needs {expected[0] or 'no'} checkpoint.",
            suggestion="See them with: portico checkpoints list",
        )
    asyncio.run(_act(flags, dict(os.environ)))
    return 0


async def _act(flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
    view = ReviewPrinter(environ.get("TERM", ""))
    async with reviewed_session(flags, environ) as (host, reviewed):
        match flags.action:
            case "list":
                await _list(flags, reviewed, view, host.clock.now_ms())
            case "diff":
                await _diff(flags, reviewed, view)
            case _:
                await _restore(flags, reviewed, view)


async def _list(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter, now_ms: int) -> None:
    found = list(await reviewed.desk.checkpoints(reviewed.session.session_id))
    shown = found if flags.all else found[:_LISTED]
    if flags.api:
        listed = [
            ListedCheckpoint(
                checkpoint_id=one.checkpoint_id,
                at=format_time(one.at),
                label=one.label,
                moment=one.moment,
                left_out=one.left_out,
            )
            for one in shown
        ]
        _print_json(reviewed, checkpoints=listed, count=len(found))
        return
    if not shown:
        view.line("No checkpoint has been taken in this folder yet.")
        return
    view.checkpoints(shown, now_ms)
    if len(found) > len(shown):
        view.line(f"and {len(found) - len(shown)} older; --all lists them.")


async def _diff(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    names = [await _named(reviewed, word) for word in flags.words]
    other = names[1] if len(names) > 1 else None
    changed = await reviewed.desk.checkpoint_diff(reviewed.session.session_id, names[0], other)
    if flags.api:
        _print_json(reviewed, files=changed.files, unlisted=changed.unlisted)
        return
    if not changed.files:
        view.line("Nothing has changed.")
    elif flags.stat:
        view.files(changed.files, changed.unlisted)
    else:
        view.diffs(changed.files)


async def _restore(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    session_id = reviewed.session.session_id
    done = await reviewed.desk.restore(session_id, await _named(reviewed, flags.words[0]))
    if flags.api:
        _print_json(reviewed, restored=done.restored, proposal=done.proposal)
        return
    view.line(proposal_labels.restored_words(done.restored))
    for what, command in proposal_labels.restore_commands(done.restored, session_id):
        view.line(f"  {what}: {command}")


async def _named(reviewed: ReviewTarget, word: str) -> str:
    """The checkpoint whose id begins so."""
    found = [one.checkpoint_id for one in await reviewed.desk.checkpoints(reviewed.session.session_id)]
    meant = [name for name in found if name == word] or [name for name in found if name.startswith(word)]
    if len(meant) != 1:
        raise InvalidInput(
            f"Several checkpoints begin with {word}." if meant else f"There is no checkpoint {word}.",
            suggestion="See them with: portico checkpoints list --all",
        )
    return meant[0]


def _print_json(reviewed: ReviewTarget, **values: object) -> None:
    told = {"status": "ok", "sessionId": reviewed.session.session_id, **values}
    print(msgspec.json.encode(told).decode())
