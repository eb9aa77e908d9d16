"""`portico sessions`: list, search, show, export, fork, hand off, delete and verify sessions."""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import get_args

import msgspec

from portico.app.host import Host, open_host
from portico.cli.arguments import CommandGroup, CommandParser, RunAction, positive, print_json, real_folder
from portico.cli.hand_off import hand_off_session
from portico.cli.session_search import add_search
from portico.domain.errors import InvalidInput
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.timestamps import format_time
from portico.doors.terminal.input.confirmation import confirm
from portico.doors.terminal.sanitizer import StreamCleaner, clean
from portico.sessions.log.export import export_json, export_markdown
from portico.sessions.log.hand_off import summarize_session
from portico.sessions.lookup import find_session

_EXAMPLES = """examples:
  portico sessions list --all
  portico sessions search connection refused --since 7d
  portico sessions export 01JZ --format markdown > session.md
  portico sessions handoff 01JZ --agent claude

"""
_SEE_LIST = "See them with: portico sessions list --all"


class ListedSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session as `--api` shows it."""

    session_id: str
    title: str
    state: str
    agent: str
    workspace: str
    created_at: str
    updated_at: str
    events: int
    to_review: int


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("sessions", "The sessions on this machine.", examples=_EXAMPLES)
    listing = group.add("list", "list the sessions of a folder, or all", _on_host(_list))
    listing.add_argument("--all", action="store_true", help="sessions of every folder")
    listing.add_argument(
        "--cwd", metavar="DIR", default=".", help="folder whose sessions to list (default: this one)"
    )
    listing.add_argument("--limit", type=positive, default=50, help="largest number to list (default: 50)")
    add_search(group, _on_host)
    _add_session(
        group.add("show", "print a session as it looked in the terminal", _on_host(_show), hint=_SEE_LIST)
    )
    export = group.add("export", "print a session as Markdown or JSON", _on_host(_export), hint=_SEE_LIST)
    _add_session(export)
    export.add_argument(
        "--format", choices=["json", "markdown"], default="markdown", help="format (default: markdown)"
    )
    _add_session(group.add("fork", "copy a session, to continue both", _on_host(_fork), hint=_SEE_LIST))
    handoff = group.add(
        "handoff",
        "print a summary for another agent, or continue with one",
        _on_host(_hand_off),
        hint=_SEE_LIST,
    )
    _add_session(handoff)
    handoff.add_argument(
        "--agent", metavar="NAME", help="agent to continue with, in a new session (without it: print only)"
    )
    handoff.add_argument(
        "--mode", choices=get_args(ReviewMode), help="review mode of the new session (default: the same)"
    )
    delete = group.add("delete", "delete a session permanently", _on_host(_delete), hint=_SEE_LIST)
    _add_session(delete)
    delete.add_argument(
        "--yes", action="store_true", help="no confirmation, and open proposals are discarded"
    )
    verify = group.add("verify", "check that every event log is complete", _on_host(_verify))
    verify.add_argument(
        "--accept-losses", action="store_true", help="stop reporting what is missing at this moment"
    )
    return group.run(arguments)


def _add_session(parser: CommandParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="session (ID or unique prefix)")


def _on_host(act: Callable[[Host, argparse.Namespace], Awaitable[int]]) -> RunAction:
    async def act_on_host(flags: argparse.Namespace) -> int:
        async with open_host(os.environ) as host:
            return await act(host, flags)

    return lambda flags: asyncio.run(act_on_host(flags))


async def _list(host: Host, flags: argparse.Namespace) -> int:
    workspace = None if flags.all else str(real_folder(flags.cwd))
    found = await host.store.summaries(workspace=workspace, limit=flags.limit)
    if flags.api:
        print_json(sessions=[_listed(one) for one in found], count=len(found))
        return 0
    if not found:
        print("No sessions yet." if flags.all else "No sessions in this folder. List all with: --all")
        return 0
    from portico.doors.terminal.render.session_table import print_sessions

    print_sessions(found, now_ms=host.clock.now_ms(), show_workspace=flags.all)
    return 0


async def _show(host: Host, flags: argparse.Namespace) -> int:
    summary = await find_session(host.store, flags.session)
    if flags.api:
        print_json(session=_listed(summary))
        return 0
    from portico.doors.terminal.render.renderer import make_renderer

    renderer = make_renderer(
        sys.stdout, sys.stderr, term=os.environ.get("TERM", ""), workspace=summary.workspace, prompts="shown"
    )
    after = 0
    while page := await host.store.read(summary.session_id, after_seq=after, limit=500):
        for event in page:
            renderer.render(event)
        after = page[-1].seq
    renderer.finish()
    return 0


async def _export(host: Host, flags: argparse.Namespace) -> int:
    summary = await find_session(host.store, flags.session)
    export = export_json if flags.format == "json" or flags.api else export_markdown
    # A file gets the text unchanged; on a terminal its escape sequences would act.
    cleaner = StreamCleaner() if sys.stdout.isatty() else None
    async for piece in export(host.store, summary):
        sys.stdout.write(piece if cleaner is None else cleaner.feed(piece))
    if cleaner is not None:
        sys.stdout.write(cleaner.close())
    return 0


async def _fork(host: Host, flags: argparse.Namespace) -> int:
    summary = await find_session(host.store, flags.session)
    forked = await host.service.fork(summary.session_id)
    if flags.api:
        print_json(session=_listed(await host.service.show(forked)))
    else:
        print(f"Forked as {forked}. Continue it with: portico chat --session {forked}")
    return 0


async def _hand_off(host: Host, flags: argparse.Namespace) -> int:
    source = await find_session(host.store, flags.session)
    if flags.agent is None:
        summary = await summarize_session(host.store, source)
        if flags.api:
            print_json(session=_listed(source), summary=summary)
        else:
            print(clean(summary) if sys.stdout.isatty() else summary)
        return 0
    continuation = await hand_off_session(host, source, flags.agent, os.environ, mode=flags.mode)
    if flags.api:
        print_json(session=_listed(continuation), continues=source.session_id, mode=continuation.mode)
    else:
        name = continuation.session_id
        print(f"Continued as {name} with {continuation.agent}, review mode {continuation.mode}.")
        print(f"Its first prompt includes the summary. Continue it with: portico chat --session {name}")
    return 0


async def _delete(host: Host, flags: argparse.Namespace) -> int:
    summary = await find_session(host.store, flags.session)
    confirming = not flags.yes and not flags.api and sys.stdin.isatty()
    if confirming:
        try:
            await host.service.check_delete(summary.session_id)
        except InvalidInput as warning:
            print(f"{warning.message} {warning.suggestion}")
        if not await confirm(f"Delete “{summary.title or summary.session_id}” permanently?"):
            print("Nothing was deleted.")
            return 0
    await host.service.delete(summary.session_id, discard_proposals=flags.yes or confirming)
    if flags.api:
        print_json(deleted=summary.session_id)
    else:
        print(f"Deleted {summary.session_id}.")
    return 0


async def _verify(host: Host, flags: argparse.Namespace) -> int:
    if flags.accept_losses:
        await host.store.accept_losses()
    problems = await host.store.verify()
    if flags.api:
        print_json(status="failed" if problems else "ok", problems=problems)
    else:
        print("\n".join(problems) or "Every log is complete.")
    return 4 if problems else 0


def _listed(summary: SessionSummary) -> ListedSession:
    return ListedSession(
        session_id=summary.session_id,
        title=summary.title,
        state=summary.state.value,
        agent=summary.agent,
        workspace=summary.workspace,
        created_at=format_time(summary.created_at),
        updated_at=format_time(summary.updated_at),
        events=summary.last_seq,
        to_review=summary.to_review,
    )
