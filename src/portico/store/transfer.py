"""Copy of all sessions from one store to another, which can be interrupted and continued."""

from collections.abc import Callable

import msgspec

from portico.domain.errors import StoreFailed
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.sessions.ports import Store

_PAGE_EVENTS = 1_000
_PAGE_BYTES = 4_000_000
_PAGE_SESSIONS = 200


class TransferReport(msgspec.Struct, kw_only=True):
    """Sessions and events that were copied, sessions that were there already, and those that were left out."""

    sessions: int = 0
    events: int = 0
    unchanged: int = 0
    problems: list[str] = []


async def copy_all(
    source: Store, target: Store, progress: Callable[[TransferReport], None]
) -> TransferReport:
    """Copy every session with its draft, and verify each by comparing both ends.

    A session that the target has in part is continued. One that went on differently there is left out.
    """
    report = TransferReport(problems=[])
    before: SessionId | None = None
    while page := await source.summaries(before=before, limit=_PAGE_SESSIONS):
        for summary in page:
            try:
                await _copy_session(source, target, summary, report)
            except StoreFailed as failure:
                report.problems.append(f"session {summary.session_id}: {failure.message}")
            progress(report)
        before = page[-1].session_id
    return report


async def _copy_session(
    source: Store, target: Store, summary: SessionSummary, report: TransferReport
) -> None:
    name = summary.session_id
    held = await target.summary(name)
    seq = 0 if held is None else held.last_seq
    if seq and await target.tail(name, before_seq=None, limit=1) != await source.read(
        name, after_seq=seq - 1, limit=1
    ):
        raise StoreFailed("the target has another session of this id, or it went on there")
    copied = 0
    while events := await source.read(name, after_seq=seq, limit=_PAGE_EVENTS, max_bytes=_PAGE_BYTES):
        await target.append(events, durable=True)
        seq = events[-1].seq
        copied += len(events)
    await target.save_drafts(name, await source.draft(name))
    found = await target.summary(name)
    if found is None or (found.last_seq == summary.last_seq and found != summary):
        raise StoreFailed("the copy is not equal to its source")
    report.events += copied
    report.sessions += copied > 0
    report.unchanged += copied == 0
