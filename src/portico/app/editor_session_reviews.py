"""Review decisions for sessions of ACP editors, which have proposals but no event log."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from portico.app.host import Host
from portico.chains.review_proxies import open_editor_sessions
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.review.acp.editor_sessions import EditorSession
from portico.review.branches.session_branches import FinishMethod
from portico.review.local_reviews import LocalReviews, run_to_end
from portico.sessions.leases import take_tree_lease
from portico.sessions.review_actions import FinishReport, ReviewEnding

_Outcome = TypeVar("_Outcome")


def find_editor_session(environ: Mapping[str, str], name: str) -> SessionSummary | None:
    """The session that a name, or a beginning of one, means, if it means one of an editor."""
    meant = [one for one in open_editor_sessions(environ).all() if one.session_id.startswith(name)]
    return _summary(meant[0]) if len(meant) == 1 else None


def editor_sessions_in(environ: Mapping[str, str], folder: Path) -> list[SessionSummary]:
    """The editor sessions of a folder, latest first."""
    found = open_editor_sessions(environ).all()
    return [_summary(one) for one in found if Path(one.workspace).resolve() == folder]


class EditorSessionReviews(LocalReviews):
    """Decides on changes of sessions of editors, and writes nothing down that only a log would have."""

    def __init__(self, host: Host, session: SessionSummary) -> None:
        super().__init__(host.service, host.ports, host.reviews)
        self._session = session

    async def finish(self, session_id: SessionId, ending: ReviewEnding, message: str | None) -> FinishReport:
        outcome = await self._decide(
            session_id,
            lambda: self._reviews.finish(session_id, FinishMethod(ending), message),
            writes_tree=True,
        )
        ended = outcome.ended
        notes = tuple(one.text for one in ended.notices)
        return FinishReport(commit=ended.commit, reference=ended.reference, notes=notes)

    async def _decide(
        self, session_id: SessionId, decide: Callable[[], Awaitable[_Outcome]], *, writes_tree: bool
    ) -> _Outcome:
        async def carry_out() -> _Outcome:
            session = self._session
            lease = (
                await take_tree_lease(self._ports.store, session.session_id, session.workspace)
                if writes_tree
                else None
            )
            try:
                return await decide()
            finally:
                if lease is not None:
                    lease.release()

        return await run_to_end(carry_out(), name=f"deciding on changes of {session_id}")


def _summary(one: EditorSession) -> SessionSummary:
    return SessionSummary(
        session_id=one.session_id,
        workspace=one.workspace,
        agent=one.agent,
        mode=one.mode,
        agent_session_id=one.agent_session_id,
    )
