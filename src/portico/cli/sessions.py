"""`portico sessions`: list, show, export, fork, delete and verify sessions."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence

import msgspec

from portico.app.host import Host, open_host
from portico.cli.arguments import CommandParser, positive, real_folder, refuse
from portico.domain.errors import InvalidInput
from portico.domain.events import format_time
from portico.domain.session_summary import SessionSummary
from portico.doors.terminal.input.confirmation import confirm
from portico.doors.terminal.sanitizer import StreamCleaner
from portico.sessions.log.export import export_json, export_markdown
from portico.sessions.lookup import find_session

_DESCRIPTION = """The conversations on this machine.

  portico sessions list [--all]
  portico sessions show ID
  portico sessions export ID --format markdown > talk.md
  portico sessions fork ID        a copy that goes its own way
  portico sessions delete ID
  portico sessions verify
"""


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


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("sessions", _DESCRIPTION)
    parser.add_argument("action", choices=["list", "show", "export", "fork", "delete", "verify"])
    parser.add_argument("session", nargs="?", help="the session's id, or a unique beginning of it")
    parser.add_argument("--all", action="store_true", help="list the sessions of every folder")
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        default=".",
        help="list the sessions of this folder (default: the one you are in)",
    )
    parser.add_argument("--limit", type=positive, default=50, help="list at most so many (default: 50)")
    parser.add_argument(
        "--format", choices=["json", "markdown"], default="markdown", help="export as (default: markdown)"
    )
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    parser.add_argument(
        "--accept-losses", action="store_true", help="verify, and no longer report what is missing now"
    )
    flags = parser.parse_intermixed_args(arguments)
    if flags.action in ("show", "export", "fork", "delete") and not flags.session:
        raise InvalidInput(
            f"portico sessions {flags.action} needs a session.",
            suggestion="See them with: portico sessions list --all",
        )
    if flags.action in ("list", "verify"):
        refuse(f"portico sessions {flags.action}", flags.session)
    return asyncio.run(_act(flags, dict(os.environ)))


async def _act(flags: argparse.Namespace, environ: Mapping[str, str]) -> int:
    async with open_host(environ) as host:
        match flags.action:
            case "list":
                return await _list(host, flags)
            case "show":
                return await _show(host, flags, environ)
            case "export":
                return await _export(host, flags)
            case "fork":
                return await _fork(host, flags)
            case "delete":
                return await _delete(host, flags)
            case _:
                return await _verify(host, flags)


async def _list(host: Host, flags: argparse.Namespace) -> int:
    workspace = None if flags.all else str(real_folder(flags.cwd))
    found = await host.store.summaries(workspace=workspace, limit=flags.limit)
    if flags.api:
        _print_json({"status": "ok", "sessions": [_listed(one) for one in found], "count": len(found)})
        return 0
    if not found:
        where = "" if flags.all else " in this folder; --all lists those of every folder"
        print(f"No sessions yet{where}.")
        return 0
    from portico.doors.terminal.render.session_table import print_sessions

    print_sessions(found, now_ms=host.clock.now_ms(), show_workspace=flags.all)
    return 0


async def _show(host: Host, flags: argparse.Namespace, environ: Mapping[str, str]) -> int:
    summary = await find_session(host.store, flags.session)
    if flags.api:
        _print_json({"status": "ok", "session": _listed(summary)})
        return 0
    from portico.doors.terminal.render.renderer import make_renderer

    renderer = make_renderer(
        sys.stdout, sys.stderr, term=environ.get("TERM", ""), workspace=summary.workspace, prompts="shown"
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
    # A file gets what was said, byte by byte; a terminal would do what it says.
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
        _print_json({"status": "ok", "session": _listed(await host.service.show(forked))})
    else:
        print(f"Forked into {forked}. Go on with: portico chat --session {forked}")
    return 0


async def _delete(host: Host, flags: argparse.Namespace) -> int:
    summary = await find_session(host.store, flags.session)
    asking = not flags.yes and not flags.api and sys.stdin.isatty()
    if asking:
        try:
            await host.service.check_delete(summary.session_id)
        except InvalidInput as at_stake:
            print(f"{at_stake.message} {at_stake.suggestion}")
        if not await confirm(f"Delete “{summary.title or summary.session_id}” for good?"):
            print("Kept.")
            return 0
    await host.service.delete(summary.session_id, discard_proposals=flags.yes or asking)
    if flags.api:
        _print_json({"status": "ok", "deleted": summary.session_id})
    else:
        print(f"Deleted {summary.session_id}.")
    return 0


async def _verify(host: Host, flags: argparse.Namespace) -> int:
    if flags.accept_losses:
        await host.store.accept_losses()
    problems = await host.store.verify()
    if flags.api:
        _print_json({"status": "ok" if not problems else "failed", "problems": problems})
    else:
        print("\n".join(problems) or "Every log is whole.")
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
    )


def _print_json(value: object) -> None:
    print(msgspec.json.encode(value).decode())
