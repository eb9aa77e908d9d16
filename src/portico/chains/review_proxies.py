"""Builds the review proxies of a chain: review for ACP editors and the tool that proposes changes."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from portico.chains.options import ChainParts
from portico.conductor.proxy import Proxy
from portico.config.paths import state_folder
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId, make_session_id
from portico.editors.files import LocalFiles
from portico.processes.clock import SystemClock
from portico.review.acp.editor_sessions import EditorSessions
from portico.review.acp.path_translation import PathTranslation
from portico.review.acp.proposal_tool import ProposalToolProxy
from portico.review.acp.proxy import ReviewProxy, ReviewProxyOptions
from portico.review.service import ReviewService
from portico.review.text.change_set import ChangeSet


def review_proxies(
    parts: ChainParts, reviews: ReviewService, agent: str, keeps_out: Callable[[Path], bool]
) -> list[Proxy]:
    """The proxies by which changes are reviewed; for sessions of editors, the review itself if the mode asks for it.

    `keeps_out` says whether the agent's sandbox keeps it from writing a folder.
    """
    after: list[Proxy] = [PathTranslation(), proposal_tool_proxy(reviews)]
    if parts.options.mode == "direct":
        return after
    needs = ReviewProxyOptions(
        agent=agent,
        mode=parts.options.mode,
        reviews=reviews,
        sessions=open_editor_sessions(parts.environ),
        open_files=LocalFiles,
        make_id=make_id,
        keeps_out=keeps_out,
    )
    return [ReviewProxy(needs), *after]


def open_editor_sessions(environ: Mapping[str, str]) -> EditorSessions:
    """The sessions that were opened by editors, in this process or any other."""
    return EditorSessions(state_folder(environ) / "review" / "editor_sessions")


def proposal_tool_proxy(reviews: ReviewService) -> ProposalToolProxy:
    """The tool by which an agent proposes changes where they are reviewed."""

    async def propose(session: str, workspace: Path, changes: ChangeSet) -> ProposalUpdated | None:
        proposal, _ = await reviews.propose(session, workspace, changes)
        return proposal

    return ProposalToolProxy(propose)


def make_id() -> SessionId:
    """A new id for the session of an editor."""
    return make_session_id(SystemClock().now_ms(), os.urandom(7))
