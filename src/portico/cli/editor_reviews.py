"""Builds review before write for a chain: the proxy for ACP editors, and the tool to propose with."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from portico.cli.clock import SystemClock
from portico.config.paths import state_folder
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId, make_session_id
from portico.domain.reviews import ReviewMode
from portico.editors.files import LocalFiles
from portico.review.chain.editor_sessions import EditorSessions
from portico.review.chain.proposing import Proposing
from portico.review.chain.proxy import ReviewNeeds, ReviewProxy
from portico.review.reviews import Reviews
from portico.review.text.changes import ChangeSet


def review_proxy(
    environ: Mapping[str, str],
    agent: str,
    mode: ReviewMode,
    reviews: Reviews,
    keeps_out: Callable[[Path], bool],
) -> ReviewProxy:
    """Review in an editor that speaks ACP, for sessions with one agent, which a sandbox `keeps_out` of folders."""
    needs = ReviewNeeds(
        agent=agent,
        mode=mode,
        reviews=reviews,
        sessions=kept_editor_sessions(environ),
        open_files=LocalFiles,
        make_id=_make_id,
        keeps_out=keeps_out,
    )
    return ReviewProxy(needs)


def kept_editor_sessions(environ: Mapping[str, str]) -> EditorSessions:
    """The sessions that were opened by editors, in this process or any other."""
    return EditorSessions(state_folder(environ) / "review" / "editor_sessions")


def proposing_proxy(reviews: Reviews) -> Proposing:
    """The tool by which an agent proposes changes where they are reviewed."""

    async def propose(session: str, workspace: Path, changes: ChangeSet) -> ProposalUpdated | None:
        told, _ = await reviews.propose(session, workspace, changes)
        return told

    return Proposing(propose)


def _make_id() -> SessionId:
    return make_session_id(SystemClock().now_ms(), os.urandom(7))
