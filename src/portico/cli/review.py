"""`portico review`: show, apply, discard, undo, revise and finish what agents propose."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from portico.cli.arguments import CommandParser
from portico.cli.review_selection import find_proposed_file, select_changes
from portico.cli.review_sessions import (
    ReviewTarget,
    add_review_session_flags,
    can_undo,
    has_open_proposals,
    is_unfinished,
    reviewed_session,
)
from portico.domain.errors import InvalidInput
from portico.domain.events import ProposalUpdated
from portico.domain.session_summary import SessionSummary
from portico.doors.terminal.input.confirmation import confirm
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.review.printer import ReviewPrinter
from portico.sessions.review_actions import ApplyReport, ReviewEnding, UndoReport

_DESCRIPTION = """What agents propose to change, and what becomes of it.

  portico review show [SESSION] [--diff | --stat | --file PATH]
  portico review apply [PATH …] [--hunk ID] [--mine PATH] [--theirs PATH]
  portico review discard [PATH …] [--hunk ID]
  portico review undo                       takes the last apply back
  portico review revise [PATH …] --comment "shorter, please"
  portico review finish merge|squash|keep|discard

Without --session it is the latest session of this folder in which something is proposed.
"""
_ACTIONS = ("show", "apply", "discard", "undo", "revise", "finish")
_ONLY_FOR = {
    "diff": ("show",),
    "stat": ("show",),
    "file": ("show",),
    "hunk": ("apply", "discard", "revise"),
    "mine": ("apply",),
    "theirs": ("apply",),
    "comment": ("revise",),
    "message": ("finish",),
}


def run(arguments: Sequence[str]) -> int:
    flags = parse(arguments)
    environ = dict(os.environ)
    if flags.action == "revise":
        from portico.cli.exec import run as run_exec

        session, text = asyncio.run(_revision(flags, environ))
        if session.last_seq == 0:  # It is open in an editor, which alone can send it.
            print(msgspec.json.encode({"status": "ok", "prompt": text}).decode() if flags.api else text)
            return 0
        return run_exec([*(["--api"] if flags.api else []), "--session", session.session_id, "--", text])
    asyncio.run(_act(flags, environ))
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command's words, for the shell and for the chat."""
    parser = CommandParser("review", _DESCRIPTION)
    parser.add_argument("action", choices=_ACTIONS)
    parser.add_argument(
        "words", nargs="*", default=[], metavar="PATH", help="files or folders; all of them if none"
    )
    add_review_session_flags(parser)
    parser.add_argument("--proposal", metavar="ID", help="which one, if several are open")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--diff", action="store_true", help="show the patch; in a pipe git can read it")
    shown.add_argument("--stat", action="store_true", help="show the list of files alone")
    shown.add_argument("--file", metavar="PATH", help="show one file in full, with hunks and conflicts")
    parser.add_argument(
        "--hunk", metavar="ID", action="append", default=[], help="only this hunk; may be repeated"
    )
    parser.add_argument(
        "--mine", metavar="PATH", action="append", default=[], help="where both changed it, your lines stay"
    )
    parser.add_argument(
        "--theirs",
        metavar="PATH",
        action="append",
        default=[],
        help="where both changed it, the agent's lines",
    )
    parser.add_argument("--comment", metavar="TEXT", default="", help="what the agent should do otherwise")
    parser.add_argument("--message", metavar="TEXT", help="of the commit that finish makes")
    parser.add_argument("--yes", action="store_true", help="discard without asking")
    flags = parser.parse_intermixed_args(arguments)
    if flags.action == "show" and flags.words:
        flags.session = flags.session or flags.words.pop(0)
    takes_none = flags.action in ("show", "undo") or (flags.action == "finish" and len(flags.words) != 1)
    strange = [
        f"--{name}" for name, fit in _ONLY_FOR.items() if getattr(flags, name) and flags.action not in fit
    ]
    # What is left unheard could be what was meant to narrow a decision, which would then be about everything.
    if strange or (flags.words and takes_none):
        raise InvalidInput(
            f"portico review {flags.action} does not take {' '.join(strange or flags.words)}.",
            suggestion="See portico review --help",
        )
    return flags


async def _act(flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
    suits = {"undo": can_undo, "finish": is_unfinished}.get(flags.action, has_open_proposals)
    async with reviewed_session(flags, environ, suits) as (_, reviewed):
        await act(flags, reviewed, ReviewPrinter(environ.get("TERM", "")))


async def act(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    """Do what the words say, and show what came of it."""
    match flags.action:
        case "show":
            await _show(flags, reviewed, view)
        case "apply":
            await _apply(flags, reviewed, view)
        case "discard":
            await _discard(flags, reviewed, view)
        case "undo":
            await _undo(flags, reviewed, view)
        case "finish":
            await _finish(flags, reviewed, view)
        case other:
            raise InvalidInput(f"{other} is not to be had here.")


async def _show(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    session_id, desk = reviewed.session.session_id, reviewed.desk
    proposals = await reviewed.open_proposals()
    if flags.proposal is not None:
        proposals = [await reviewed.open_proposal(flags.proposal)]
    if flags.file is not None:
        proposal, path = find_proposed_file(proposals, flags.file, reviewed.workspace)
        contents = list(await desk.contents(session_id, proposal.proposal_id, [path]))
        if flags.api:
            _print_json(reviewed, proposals=proposals, contents=contents)
            return
        for one in contents:
            view.contents(one)
        return
    status = await desk.status(session_id)
    if flags.api:
        _print_json(reviewed, review=status, proposals=proposals)
        return
    if not proposals:
        view.line(f"Nothing is proposed in session {session_id}, which works in {status.mode} mode.")
    for proposal in proposals:
        if flags.diff:
            view.diffs(await _whole(reviewed, proposal))
        elif flags.stat:
            view.files(proposal.files, proposal.unlisted)
        else:
            view.proposal(proposal, session_id, among_others=len(proposals) > 1)
    if status.unfinished and not (flags.diff or flags.stat):
        where = f"on the branch {status.branch}" if status.branch else "in a worktree of its own"
        view.line(f"Session {session_id} works {where}.")
        view.line(f"  end that: portico review finish merge --session {session_id}")


async def _whole(reviewed: ReviewTarget, proposal: ProposalUpdated) -> list[Any]:
    """The files of a proposal, also those whose diffs are too long to be told at once."""
    short = [file.path for file in proposal.files if file.shortened]
    if not short:
        return list(proposal.files)
    session_id = reviewed.session.session_id
    found = await reviewed.desk.contents(session_id, proposal.proposal_id, short)
    full = {one.path: one for one in found}
    return [
        msgspec.structs.replace(file, diff=full[file.path].diff, hunks=full[file.path].hunks)
        if file.path in full
        else file
        for file in proposal.files
    ]


async def _apply(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    proposal = await reviewed.open_proposal(flags.proposal)
    choice = select_changes(proposal, flags, reviewed.workspace)
    applied = await reviewed.desk.apply(reviewed.session.session_id, choice)
    if applied.conflicted:
        raise _conflict(applied, reviewed.session.session_id)
    if flags.api:
        _print_json(
            reviewed, proposal=applied.proposal, merged=list(applied.merged), refused=list(applied.refused)
        )
        return
    for path in applied.merged:
        view.line(f"{path} keeps what you changed in it meanwhile.")
    for path in applied.refused:
        view.line(f"{path} was left out: it can never be applied.")
    view.proposal(applied.proposal, reviewed.session.session_id)


async def _discard(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    proposal = await reviewed.open_proposal(flags.proposal)
    choice = select_changes(proposal, flags, reviewed.workspace)
    if not flags.yes and not flags.api and sys.stdin.isatty() and not await _sure(proposal, choice.files):
        view.line("Kept.")
        return
    after = await reviewed.desk.discard(reviewed.session.session_id, choice)
    if flags.api:
        _print_json(reviewed, proposal=after)
        return
    view.proposal(after, reviewed.session.session_id)


async def _undo(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    session_id = reviewed.session.session_id
    known = [*await reviewed.desk.proposals(session_id, decided=True), *await reviewed.open_proposals()]
    known.sort(key=lambda one: one.proposal_id)  # By their age, whatever has become of them.
    applied = [one for one in known if one.can_undo and one.proposal_id.startswith(flags.proposal or "")]
    if not applied:
        raise InvalidInput(
            f"Nothing that was applied in session {session_id} can be taken back.",
            suggestion="Go back further with: portico checkpoints list",
        )
    done = await reviewed.desk.undo(session_id, applied[-1].proposal_id)
    if not done.undone:
        raise _changed_since(done)
    if flags.api:
        _print_json(reviewed, proposal=done.proposal)
        return
    view.line(
        "Nothing had to be taken back: your files are as before already." if done.already else "Taken back."
    )
    view.proposal(done.proposal, session_id)


async def _finish(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    endings = get_args(ReviewEnding)
    if not flags.words or flags.words[0] not in endings:
        raise InvalidInput(
            "portico review finish needs to know how.", suggestion=f"Choose one of: {', '.join(endings)}"
        )
    done = await reviewed.desk.finish(reviewed.session.session_id, flags.words[0], flags.message)
    if flags.api:
        _print_json(reviewed, commit=done.commit, reference=done.reference, notes=list(done.notes))
        return
    view.line(f"Finished: {done.commit[:12]} is at {done.reference}.")
    for note in done.notes:
        view.line(note)


async def _revision(flags: argparse.Namespace, environ: Mapping[str, str]) -> tuple[SessionSummary, str]:
    async with reviewed_session(flags, environ, has_open_proposals) as (_, reviewed):
        return reviewed.session, await revision_prompt(flags, reviewed)


async def revision_prompt(flags: argparse.Namespace, reviewed: ReviewTarget) -> str:
    """What asks the agent of a session to revise what was chosen."""
    proposal = await reviewed.open_proposal(flags.proposal)
    choice = select_changes(proposal, flags, reviewed.workspace)
    return await reviewed.desk.revision_prompt(reviewed.session.session_id, choice, flags.comment)


async def _sure(proposal: ProposalUpdated, chosen: Sequence[object]) -> bool:
    what = f"{len(chosen)} of its files" if chosen else proposal_labels.proposal_size(proposal)
    return await confirm(f"Discard {what} for good?")


def _conflict(applied: ApplyReport, session_id: str) -> InvalidInput:
    paths = applied.conflicted
    return InvalidInput(
        f"Nothing was written: the same lines of {', '.join(paths)} changed meanwhile, or the file is gone.",
        suggestion=f"Look with: portico review show {session_id} --file {paths[0]}. "
        f"Then apply with --mine {paths[0]} or --theirs {paths[0]}.",
    )


def _changed_since(done: UndoReport) -> InvalidInput:
    where = f" of {', '.join(done.conflicted)}" if done.conflicted else ""
    return InvalidInput(
        f"Nothing was taken back: the same lines{where} changed since, or the file is gone.",
        suggestion="Go back to the checkpoint before the apply instead: portico checkpoints list",
    )


def _print_json(reviewed: ReviewTarget, **values: object) -> None:
    told = {"status": "ok", "sessionId": reviewed.session.session_id, **values}
    print(msgspec.json.encode(told).decode())
