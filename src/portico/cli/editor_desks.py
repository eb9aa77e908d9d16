"""Sessions of ACP editors, for the commands about changes: what they proposed is kept, and they have no log."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from portico.cli.editor_reviews import kept_editor_sessions
from portico.cli.host import Host
from portico.cli.reviewing import LocalReviews, to_its_end
from portico.domain.ids import SessionId
from portico.domain.summaries import SessionSummary
from portico.doors.reviews import Finished, ReviewEnding
from portico.review.branches.branches import Ending
from portico.review.chain.editor_sessions import EditorSession
from portico.sessions.between_turns import tree_lease

_Outcome = TypeVar("_Outcome")


def named_editor_session(environ: Mapping[str, str], name: str) -> SessionSummary | None:
    """The session that a name, or a beginning of one, means, if it means one of an editor."""
    meant = [one for one in kept_editor_sessions(environ).all() if one.session_id.startswith(name)]
    return _summary(meant[0]) if len(meant) == 1 else None


def editor_sessions_in(environ: Mapping[str, str], folder: Path) -> list[SessionSummary]:
    """Those of a folder, the latest first."""
    found = kept_editor_sessions(environ).all()
    return [_summary(one) for one in found if Path(one.workspace).resolve() == folder]


class EditorReviews(LocalReviews):
    """Decides on changes of sessions of editors, and writes nothing down that only a log would have."""

    def __init__(self, host: Host, session: SessionSummary) -> None:
        super().__init__(host.service, host.ports, host.reviews)
        self._session = session

    async def finish(self, session_id: SessionId, ending: ReviewEnding, message: str | None) -> Finished:
        outcome = await self._decide(
            session_id,
            lambda: self._reviews.finish(session_id, Ending(ending), message),
            writes_tree=True,
        )
        ended = outcome.ended
        notes = tuple(one.text for one in ended.notices)
        return Finished(commit=ended.commit, reference=ended.reference, notes=notes)

    async def _decide(
        self, session_id: SessionId, decide: Callable[[], Awaitable[_Outcome]], *, writes_tree: bool
    ) -> _Outcome:
        async def carry_out() -> _Outcome:
            lease = tree_lease(self._ports, self._session) if writes_tree else None
            try:
                return await decide()
            finally:
                if lease is not None:
                    lease.release()

        return await to_its_end(carry_out(), name=f"deciding on changes of {session_id}")


def _summary(one: EditorSession) -> SessionSummary:
    return SessionSummary(
        session_id=one.session_id,
        workspace=one.workspace,
        agent=one.agent,
        mode=one.mode,
        agent_session_id=one.agent_session_id,
    )
