"""`portico review`: show, apply, discard, undo, revise and finish what agents propose."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from portico.app.host import open_host
from portico.cli.arguments import CommandGroup, print_json
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
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.doors.terminal.input.confirmation import confirm
from portico.doors.terminal.labels import short_path
from portico.doors.terminal.output import plain_columns
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.review.printer import ReviewPrinter
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.review_actions import ApplyReport, ReviewEnding, UndoReport

_EXAMPLES = """examples:
  portico review show --diff
  portico review apply src/page.css --mine README.md
  portico review revise src --comment "shorter, please"

Without --session, the latest session of this folder with a proposal is used.
"""


_LISTED_AT_ONCE = 500


def run(arguments: Sequence[str]) -> int:
    return _group().run(arguments)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of an action, for the chat."""
    return _group().parse(arguments)


def _group() -> CommandGroup:
    group = CommandGroup("review", "The changes that agents propose.", examples=_EXAMPLES)
    group.add("list", "list the sessions of all folders that have something to review", _run_list)
    show = group.add("show", "show what is proposed", _run_action)
    show.add_argument("session_name", metavar="SESSION", nargs="?", help="session (ID or unique prefix)")
    shown = show.add_mutually_exclusive_group()
    shown.add_argument("--diff", action="store_true", help="the patch; in a pipe, as git reads it")
    shown.add_argument("--stat", action="store_true", help="the list of files only")
    shown.add_argument(
        "--problems",
        action="store_true",
        help="problems that the changes add and remove, by language servers",
    )
    shown.add_argument("--file", metavar="PATH", help="one file in full, with hunks and conflicts")
    apply = group.add("apply", "write proposed changes to your files", _run_action)
    discard = group.add("discard", "discard proposed changes", _run_action)
    undo = group.add("undo", "undo the last apply", _run_action)
    revise = group.add("revise", "ask the agent to revise its proposal", _run_revise)
    finish = group.add("finish", "finish the branch or worktree of a session", _run_action)
    for parser in (show, apply, discard, undo, revise, finish):
        add_review_session_flags(parser)
        parser.add_argument(
            "--proposal", metavar="ID", help="proposal, if several are open (ID or unique prefix)"
        )
    for parser in (apply, discard, revise):
        parser.add_argument(
            "paths", nargs="*", default=[], metavar="PATH", help="files or folders (default: all)"
        )
        parser.add_argument(
            "--hunk", metavar="ID", action="append", default=[], help="a single hunk; may be repeated"
        )
    for flag, side in (("--mine", "yours"), ("--theirs", "the agent's")):
        apply.add_argument(
            flag,
            metavar="PATH",
            action="append",
            default=[],
            help=f"file whose conflicts are resolved with {side}; may be repeated",
        )
    discard.add_argument("--yes", action="store_true", help="no confirmation")
    revise.add_argument("--comment", metavar="TEXT", default="", help="what to change")
    finish.add_argument("ending", choices=get_args(ReviewEnding), help="what happens to the branch")
    finish.add_argument("--message", metavar="TEXT", help="commit message")
    return group


def _run_action(flags: argparse.Namespace) -> int:
    asyncio.run(_act(flags, os.environ))
    return 0


def _run_list(flags: argparse.Namespace) -> int:
    asyncio.run(_list(flags, os.environ))
    return 0


async def _list(flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
    found: list[SessionSummary] = []
    async with open_host(environ) as host:
        last: SessionId | None = None
        while page := await host.store.summaries(before=last, limit=_LISTED_AT_ONCE):
            found += [session for session in page if session.to_review]
            last = page[-1].session_id
    if flags.api:
        waiting = [
            {
                "session_id": one.session_id,
                "title": one.title,
                "workspace": one.workspace,
                "files": one.to_review,
            }
            for one in found
        ]
        print_json(sessions=waiting, count=len(waiting))
    elif not found:
        print("Nothing to review.")
    else:
        home = environ.get("HOME", "")
        rows = [
            (
                clean_line(one.session_id),
                "1 file" if one.to_review == 1 else f"{one.to_review} files",
                clean_line(one.title),
                short_path(one.workspace, home=home),
            )
            for one in found
        ]
        print(plain_columns(rows), end="")


def _run_revise(flags: argparse.Namespace) -> int:
    from portico.cli.exec import run as run_exec

    session, text = asyncio.run(_revision(flags, os.environ))
    if session.last_seq == 0:  # An editor has it open, and only the editor can send prompts to it.
        if flags.api:
            print_json(prompt=text)
        else:
            print(text)
        return 0
    return run_exec([*(["--api"] if flags.api else []), "--session", session.session_id, "--", text])


async def _act(flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
    if flags.action == "show":
        flags.session = flags.session or flags.session_name
    suits = {"undo": can_undo, "finish": is_unfinished}.get(flags.action, has_open_proposals)
    async with reviewed_session(flags, environ, suits) as (_, reviewed):
        await act(flags, reviewed, ReviewPrinter(environ.get("TERM", "")))


async def act(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    """Carry out an action other than revise, and print the result."""
    actions = {"show": _show, "apply": _apply, "discard": _discard, "undo": _undo, "finish": _finish}
    await actions[flags.action](flags, reviewed, view)


async def _show(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    session_id, reviews = reviewed.session.session_id, reviewed.reviews
    proposals = await reviewed.open_proposals()
    if flags.proposal is not None:
        proposals = [await reviewed.open_proposal(flags.proposal)]
    if flags.file is not None:
        proposal, path = find_proposed_file(proposals, flags.file, reviewed.workspace)
        contents = list(await reviews.contents(session_id, proposal.proposal_id, [path]))
        if flags.api:
            _print_json(reviewed, proposals=proposals, contents=contents)
            return
        for one in contents:
            view.contents(one)
        return
    if flags.problems:
        await _show_problems(flags, reviewed, proposals, view)
        return
    status = await reviews.status(session_id)
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
        where = f"on the branch {status.branch}" if status.branch else "in its own worktree"
        view.line(f"Session {session_id} works {where}.")
        view.line(f"  finish it with: portico review finish merge --session {session_id}")


async def _show_problems(
    flags: argparse.Namespace,
    reviewed: ReviewTarget,
    proposals: Sequence[ProposalUpdated],
    view: ReviewPrinter,
) -> None:
    # Late: most reviews ask no language server.
    from portico.doors.terminal.labels import pluralize
    from portico.doors.terminal.problem_labels import problem_lines
    from portico.sessions.proposal_problems import compare_problems

    session = reviewed.session
    found = [
        await compare_problems(session, one.proposal_id, reviewed.reviews, reviewed.ports)
        for one in proposals
    ]
    if flags.api:
        _print_json(reviewed, problems=found)
        return
    for one in found:
        lines = problem_lines(one.files, session.workspace)
        if one.files and not lines:
            lines = [f"No new problems in {pluralize(len(one.files), 'file')}."]
        for line in (*lines, *filter(None, [one.note])):
            view.line(f"  {line}")


async def _whole(reviewed: ReviewTarget, proposal: ProposalUpdated) -> list[Any]:
    """The files of a proposal, with the full diffs of those that are shortened in it."""
    short = [file.path for file in proposal.files if file.shortened]
    if not short:
        return list(proposal.files)
    session_id = reviewed.session.session_id
    found = await reviewed.reviews.contents(session_id, proposal.proposal_id, short)
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
    applied = await reviewed.reviews.apply(reviewed.session.session_id, choice)
    if applied.conflicted:
        raise _conflict(applied, reviewed.session.session_id)
    if flags.api:
        _print_json(
            reviewed, proposal=applied.proposal, merged=list(applied.merged), refused=list(applied.refused)
        )
        return
    for path in applied.merged:
        view.line(f"{path} was merged with your own changes.")
    for path in applied.refused:
        view.line(f"{path} was skipped: it is protected.")
    view.proposal(applied.proposal, reviewed.session.session_id)


async def _discard(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    proposal = await reviewed.open_proposal(flags.proposal)
    choice = select_changes(proposal, flags, reviewed.workspace)
    if (
        not flags.yes
        and not flags.api
        and sys.stdin.isatty()
        and not await _confirm_discard(proposal, choice.files)
    ):
        view.line("Nothing was discarded.")
        return
    after = await reviewed.reviews.discard(reviewed.session.session_id, choice)
    if flags.api:
        _print_json(reviewed, proposal=after)
        return
    view.proposal(after, reviewed.session.session_id)


async def _undo(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    session_id = reviewed.session.session_id
    known = [*await reviewed.reviews.proposals(session_id, decided=True), *await reviewed.open_proposals()]
    known.sort(key=lambda one: one.proposal_id)  # Oldest first.
    applied = [one for one in known if one.can_undo and one.proposal_id.startswith(flags.proposal or "")]
    if not applied:
        raise InvalidInput(
            f"Nothing that was applied in session {session_id} can be undone.",
            suggestion="To go back further, use: portico checkpoints list",
        )
    done = await reviewed.reviews.undo(session_id, applied[-1].proposal_id)
    if not done.undone:
        raise _changed_since(done)
    if flags.api:
        _print_json(reviewed, proposal=done.proposal)
        return
    view.line("Nothing to undo: your files are already as before." if done.already else "Undone.")
    view.proposal(done.proposal, session_id)


async def _finish(flags: argparse.Namespace, reviewed: ReviewTarget, view: ReviewPrinter) -> None:
    done = await reviewed.reviews.finish(reviewed.session.session_id, flags.ending, flags.message)
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
    """The prompt that asks the agent to revise the selected changes."""
    proposal = await reviewed.open_proposal(flags.proposal)
    choice = select_changes(proposal, flags, reviewed.workspace)
    return await reviewed.reviews.revision_prompt(reviewed.session.session_id, choice, flags.comment)


async def _confirm_discard(proposal: ProposalUpdated, chosen: Sequence[object]) -> bool:
    what = f"{len(chosen)} of its files" if chosen else proposal_labels.proposal_size(proposal)
    return await confirm(f"Discard {what} permanently?")


def _conflict(applied: ApplyReport, session_id: str) -> InvalidInput:
    paths = applied.conflicted
    return InvalidInput(
        f"Nothing was written: the same lines of {', '.join(paths)} changed meanwhile, or the file is gone.",
        suggestion=f"See it with: portico review show {session_id} --file {paths[0]}. "
        f"Then apply with --mine {paths[0]} or --theirs {paths[0]}.",
    )


def _changed_since(done: UndoReport) -> InvalidInput:
    where = f" of {', '.join(done.conflicted)}" if done.conflicted else ""
    return InvalidInput(
        f"Nothing was undone: the same lines{where} have changed since, or the file is gone.",
        suggestion="Restore the checkpoint before the apply instead: portico checkpoints list",
    )


def _print_json(reviewed: ReviewTarget, **values: object) -> None:
    print_json(sessionId=reviewed.session.session_id, **values)
