"""Messages of the full-text search."""

from collections.abc import Sequence

from protobuf.wkt import Timestamp

from portico.api.fields import to_enum, to_time
from portico.api.v1 import agent_pb as pb
from portico.domain.search import SearchHit, SearchPage, SearchQuery, snippet_parts
from portico.doors.api.session_messages import page_size, to_summary
from portico.sessions.session_list import SessionListEntry

_HITS = 50


def read_query(request: pb.SearchSessionsRequest) -> SearchQuery:
    return SearchQuery(
        words=request.words,
        workspace=request.workspace or None,
        agent=request.agent or None,
        path=request.path or None,
        since_ms=_milliseconds(request.since),
        until_ms=_milliseconds(request.until),
        before=request.before or None,
        limit=page_size(request.limit, _HITS),
    )


def to_search_page(page: SearchPage, sessions: Sequence[SessionListEntry]) -> pb.SearchSessionsResponse:
    return pb.SearchSessionsResponse(
        hits=[_to_hit(hit) for hit in page.hits],
        sessions=[to_summary(one) for one in sessions],
        more=page.more,
        pending=page.pending,
    )


def _milliseconds(time: Timestamp | None) -> int | None:
    return None if time is None else int(time.seconds * 1000 + time.nanos // 1_000_000)


def _to_hit(hit: SearchHit) -> pb.SearchHit:
    return pb.SearchHit(
        number=hit.number,
        session_id=hit.session_id,
        seq=hit.seq,
        at=to_time(hit.at),
        kind=to_enum(pb.MessageKind, hit.kind),
        snippet=[
            pb.SnippetPart(text=text, is_match=is_match) for text, is_match in snippet_parts(hit.snippet)
        ],
    )
