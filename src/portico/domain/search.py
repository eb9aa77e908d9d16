"""Full-text search over the log: what is asked, and what is found."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from portico.domain.ids import SessionId

DocumentKind = Literal["prompt", "answer", "thought", "tool", "notice", "error"]


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Words that a message must all contain, the last one perhaps only its beginning; other fields narrow the search.

    `path` matches messages about a file whose path ends with it. The page starts after the hit `before`.
    """

    words: str
    workspace: str | None = None
    agent: str | None = None
    path: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    before: int | None = None
    limit: int = 50


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was found. Matches in the snippet stand between MATCH_START and MATCH_END."""

    number: int
    """Grows with the time of the message; a page continues after it."""
    session_id: SessionId
    seq: int
    at: int
    kind: DocumentKind
    snippet: str


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    """Hits, newest first. While `pending` events wait to be indexed, there may be more."""

    hits: tuple[SearchHit, ...]
    more: bool
    pending: int = 0


# Control characters that no message on a screen has.
MATCH_START = "\x02"
MATCH_END = "\x03"
_MATCH = re.compile(f"{MATCH_START}(.*?){MATCH_END}", re.DOTALL)


def snippet_parts(snippet: str) -> Iterator[tuple[str, bool]]:
    """The parts of a snippet, and whether each is a match."""
    for place, text in enumerate(_MATCH.split(snippet)):
        if text:
            yield text, place % 2 == 1
