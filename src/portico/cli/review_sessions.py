"""The session that a review command means, and the reviews that decide on it: local or in the server."""

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from portico.app.editor_session_reviews import EditorSessionReviews, editor_sessions_in, find_editor_session
from portico.app.host import Host, open_host
from portico.cli.arguments import CommandParser, real_folder
from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.review.local_reviews import LocalReviews
from portico.sessions.leases import session_holder
from portico.sessions.lookup import find_session
from portico.sessions.ports import Ports
from portico.sessions.review_actions import ReviewActions

_LOOKED_AT = 20

SessionPredicate = Callable[[ReviewActions, SessionId], Awaitable[bool]]
"""Whether a command can do something with a session."""


class ReviewTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A session, and the review actions for it."""

    session: SessionSummary
    reviews: ReviewActions
    ports: Ports

    @property
    def workspace(self) -> Path:
        return Path(self.session.workspace)

    async def open_proposals(self) -> list[ProposalUpdated]:
        return list(await self.reviews.proposals(self.session.session_id))

    async def open_proposal(self, name: str | None) -> ProposalUpdated:
        """The open proposal with this prefix. InvalidInput unless there is exactly one."""
        found = await self.open_proposals()
        meant = [one for one in found if name is None or one.proposal_id.startswith(name)]
        if len(meant) == 1:
            return meant[0]
        if not found:
            raise InvalidInput(
                f"Nothing is proposed in session {self.session.session_id}.",
                suggestion="List the proposals with: portico review show",
            )
        raise InvalidInput(
            "Several proposals are open." if meant else f"There is no open proposal {name}.",
            suggestion=f"Choose with --proposal: {', '.join(one.proposal_id for one in found)}",
        )


def add_review_session_flags(parser: CommandParser) -> None:
    parser.add_argument("--session", metavar="ID", help="session (ID or unique prefix)")
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        default=".",
        help="folder whose latest session to use (default: this one)",
    )


@asynccontextmanager
async def reviewed_session(
    flags: argparse.Namespace, environ: Mapping[str, str], suits: SessionPredicate | None = None
) -> AsyncIterator[tuple[Host, ReviewTarget]]:
    """The session that the flags mean, with a host that knows it.

    Without a name it is the latest of the folder that suits, if one does, else the latest.
    """
    async with open_host(environ) as host:
        session = await _meant(host, flags, suits, environ)
        reviews = await reviews_of(host, session, environ)
        yield host, ReviewTarget(session=session, reviews=reviews, ports=host.ports)


async def reviews_of(host: Host, session: SessionSummary, environ: Mapping[str, str]) -> ReviewActions:
    """The review actions for a session, local or on the server that has it open."""
    if session.last_seq == 0:  # It has no log here: an editor opened it.
        return EditorSessionReviews(host, session)
    here = LocalReviews(host.service, host.ports, host.reviews)
    held = await session_holder(host.store, session.session_id) is not None
    if host.service.find_session(session.session_id) is not None or not held:
        return here
    # Late: it is slow to import, and most sessions are not open.
    from portico.client.remote_reviews import RemoteReviews
    from portico.client.remote_session import join_session

    try:
        conversation = await join_session(host.service, host.ports, session, environ, only_own_turns=True)
    except SessionBusy:
        return here  # reported when something is decided
    return RemoteReviews(conversation.served, here)


async def has_open_proposals(reviews: ReviewActions, session_id: SessionId) -> bool:
    return bool(await reviews.proposals(session_id))


async def can_undo(reviews: ReviewActions, session_id: SessionId) -> bool:
    known = [*await reviews.proposals(session_id), *await reviews.proposals(session_id, decided=True)]
    return any(one.can_undo for one in known)


async def is_unfinished(reviews: ReviewActions, session_id: SessionId) -> bool:
    return (await reviews.status(session_id)).unfinished


async def _meant(
    host: Host, flags: argparse.Namespace, suits: SessionPredicate | None, environ: Mapping[str, str]
) -> SessionSummary:
    if flags.session is not None:
        return find_editor_session(environ, flags.session) or await find_session(host.store, flags.session)
    folder = real_folder(flags.cwd)
    found = await host.store.summaries(workspace=str(folder), limit=_LOOKED_AT)
    found = [*found, *editor_sessions_in(environ, folder)[:_LOOKED_AT]]
    if not found:
        raise SessionNotFound(
            f"There are no sessions in {folder}.",
            suggestion="Choose one with --session or --cwd. See them with: portico sessions list --all",
        )
    if suits is not None:
        here = LocalReviews(host.service, host.ports, host.reviews)
        for session in found:
            if await suits(here, session.session_id):
                return session
    return found[0]
