"""Messages that a search has found, grouped by session."""

import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TextIO

from portico.domain.ids import SessionId
from portico.domain.search import SearchHit, SearchPage, snippet_parts
from portico.domain.session_summary import SessionSummary
from portico.doors.terminal import labels
from portico.doors.terminal.render.session_table import session_row
from portico.doors.terminal.sanitizer import clean_line


def print_hits(
    page: SearchPage,
    sessions: Mapping[SessionId, SessionSummary],
    *,
    now_ms: int,
    output: TextIO | None = None,
) -> None:
    """Print hits, by default on standard output: a line for each session, and one for each of its hits."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=output or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
    for session_id, hits in groupby(page.hits, key=lambda hit: hit.session_id):
        if (summary := sessions.get(session_id)) is None:
            continue
        row = session_row(summary, now_ms=now_ms)
        console.print(
            Text.assemble((row.title, "bold"), (f"  {row.session_id}  {row.agent}  {row.workspace}", "dim"))
        )
        for hit in hits:
            age = labels.age(hit.at, now_ms)
            console.print(Text.assemble((f"  {age:>4}  {hit.kind:<8}", "dim"), *_snippet(hit)))
    if page.more:
        console.print(Text("There are more. Show them with a larger --limit, or narrow the search.", "dim"))


def _snippet(hit: SearchHit) -> Iterator[tuple[str, str]]:
    """Parts of the snippet with their styles, on one line."""
    for part, is_match in snippet_parts(hit.snippet):
        # Cleaning a part drops the spaces at its ends, which separate it from its neighbours.
        yield clean_line(f"|{part}|")[1:-1], "bold yellow" if is_match else ""
