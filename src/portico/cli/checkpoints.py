"""`portico checkpoints`: list, compare and restore the files as they were before each turn."""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from portico.cli.arguments import CommandGroup, RunAction, by_prefix, print_json
from portico.cli.review_sessions import ReviewTarget, add_review_session_flags, reviewed_session
from portico.domain.timestamps import format_time
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.review.printer import ReviewPrinter
from portico.processes.clock import SystemClock

_LISTED = 30
_SEE_LIST = "See them with: portico checkpoints list --all"


class ListedCheckpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A checkpoint as `--api` shows it."""

    checkpoint_id: str
    at: str
    label: str
    moment: str
    left_out: int


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("checkpoints", "Snapshots of your files, taken before each turn.")
    listing = group.add("list", "list the checkpoints of a session, newest first", _on_session(_list))
    listing.add_argument("--all", action="store_true", help=f"all of them, not only the newest {_LISTED}")
    diff = group.add("diff", "show what changed since a checkpoint", _on_session(_diff), hint=_SEE_LIST)
    diff.add_argument("id", metavar="ID", help="checkpoint (ID or unique prefix)")
    diff.add_argument("other", metavar="ID", nargs="?", help="checkpoint to compare it with (default: now)")
    diff.add_argument("--stat", action="store_true", help="list of files instead of the patch")
    restore = group.add(
        "restore",
        "restore the files; your own changes since then become a proposal",
        _on_session(_restore),
        hint=_SEE_LIST,
    )
    restore.add_argument("id", metavar="ID", help="checkpoint (ID or unique prefix)")
    for parser in (listing, diff, restore):
        add_review_session_flags(parser)
    return group.run(arguments)


_Act = Callable[[argparse.Namespace, ReviewTarget, ReviewPrinter], Awaitable[None]]


def _on_session(act: _Act) -> RunAction:
    async def act_on_session(flags: argparse.Namespace) -> int:
        async with reviewed_session(flags, os.environ) as (_, reviewed):
            await act(flags, reviewed, ReviewPrinter(os.environ.get("TERM", "")))
        return 0

    return lambda flags: asyncio.run(act_on_session(flags))


async def _list(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    found = list(await reviewed.reviews.checkpoints(reviewed.session.session_id))
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
    view.checkpoints(shown, SystemClock().now_ms())
    if len(found) > len(shown):
        view.line(f"and {len(found) - len(shown)} older; --all lists them.")


async def _diff(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    first = await _find(reviewed, flags.id)
    other = None if flags.other is None else await _find(reviewed, flags.other)
    changed = await reviewed.reviews.checkpoint_diff(reviewed.session.session_id, first, other)
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
    done = await reviewed.reviews.restore(session_id, await _find(reviewed, flags.id))
    if flags.api:
        _print_json(reviewed, restored=done.restored, proposal=done.proposal)
        return
    view.line(proposal_labels.restored_words(done.restored))
    for what, command in proposal_labels.restore_commands(done.restored, session_id):
        view.line(f"  {what}: {command}")


async def _find(reviewed: ReviewTarget, prefix: str) -> str:
    found = [one.checkpoint_id for one in await reviewed.reviews.checkpoints(reviewed.session.session_id)]
    return by_prefix(found, prefix, "checkpoint", hint=_SEE_LIST)


def _print_json(reviewed: ReviewTarget, **values: object) -> None:
    print_json(sessionId=reviewed.session.session_id, **values)
