"""`portico sessions search`: find words in the messages of all sessions."""

import argparse
import sys
from collections.abc import Awaitable, Callable

import msgspec

from portico.app.host import Host
from portico.cli.arguments import CommandGroup, RunAction, positive, print_json, read_since, real_folder
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.domain.search import SearchHit, SearchPage, SearchQuery, snippet_parts
from portico.domain.session_summary import SessionSummary
from portico.domain.timestamps import format_time

_STEP_SECONDS = 0.5

OnHost = Callable[[Callable[[Host, argparse.Namespace], Awaitable[int]]], RunAction]


class FoundMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A hit as `--api` shows it."""

    session_id: str
    title: str
    agent: str
    workspace: str
    seq: int
    at: str
    kind: str
    snippet: str


def add_search(group: CommandGroup, on_host: OnHost) -> None:
    search = group.add("search", "find words in the messages of all sessions", on_host(_search))
    search.add_argument("words", metavar="WORD", nargs="*", help="words that a message must contain")
    search.add_argument("--cwd", metavar="DIR", help="only sessions of this folder")
    search.add_argument("--agent", metavar="NAME", help="only sessions of this agent")
    search.add_argument(
        "--file", metavar="PATH", help="only tool calls about a file, by its path or the end of it"
    )
    search.add_argument(
        "--since", metavar="TIME", help="only newer messages: 2026-11-17, or an age like 3h, 7d, 2w"
    )
    search.add_argument("--limit", type=positive, default=20, help="largest number of messages (default: 20)")


async def _search(host: Host, flags: argparse.Namespace) -> int:
    query = _query(flags, now_ms=host.clock.now_ms())
    await _index(host, is_quiet=flags.api)
    page = await host.store.search(query)
    sessions = await _sessions_of(host, page)
    if flags.api:
        hits = [
            _found_message(hit, sessions[hit.session_id]) for hit in page.hits if hit.session_id in sessions
        ]
        print_json(hits=hits, count=len(hits), more=page.more)
        return 0
    if not page.hits:
        print("No messages found.")
        return 0
    from portico.doors.terminal.render.search_results import print_hits

    print_hits(page, sessions, now_ms=host.clock.now_ms())
    return 0


def _query(flags: argparse.Namespace, *, now_ms: int) -> SearchQuery:
    if not flags.words and flags.file is None:
        raise InvalidInput(
            "There is nothing to search for.", suggestion="Give some words, or a file with --file PATH."
        )
    return SearchQuery(
        words=" ".join(flags.words),
        workspace=None if flags.cwd is None else str(real_folder(flags.cwd)),
        agent=flags.agent,
        path=flags.file,
        since_ms=None if flags.since is None else read_since(flags.since, now_ms),
        limit=flags.limit,
    )


async def _index(host: Host, *, is_quiet: bool) -> None:
    """Index what is new, with a progress line if that takes a while."""
    shows_progress = not is_quiet and sys.stderr.isatty()
    was_shown = False
    while pending := await host.store.index_for_search(seconds=_STEP_SECONDS):
        if shows_progress:
            print(f"\rIndexing … {pending:,} events left\x1b[K", end="", file=sys.stderr, flush=True)
            was_shown = True
    if was_shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


async def _sessions_of(host: Host, page: SearchPage) -> dict[SessionId, SessionSummary]:
    """The sessions of the hits; one may have been deleted just now."""
    names = dict.fromkeys(hit.session_id for hit in page.hits)
    found = [await host.store.summary(name) for name in names]
    return {summary.session_id: summary for summary in found if summary is not None}


def _found_message(hit: SearchHit, session: SessionSummary) -> FoundMessage:
    return FoundMessage(
        session_id=hit.session_id,
        title=session.title,
        agent=session.agent,
        workspace=session.workspace,
        seq=hit.seq,
        at=format_time(hit.at),
        kind=hit.kind,
        snippet="".join(text for text, _ in snippet_parts(hit.snippet)),
    )
