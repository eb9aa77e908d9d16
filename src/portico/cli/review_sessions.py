"""Which session a command about changes means, and who decides on them: this process, or the server that has it."""

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from portico.cli.arguments import Arguments, in_full
from portico.cli.editor_desks import EditorReviews, editor_sessions_in, named_editor_session
from portico.cli.host import Host, open_host
from portico.cli.reviewing import LocalReviews
from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId
from portico.domain.summaries import SessionSummary
from portico.doors.reviews import ReviewDesk
from portico.sessions.finding import find
from portico.sessions.recovery import session_lease

_LOOKED_AT = 20

Suits = Callable[[ReviewDesk, SessionId], Awaitable[bool]]
"""Whether a command can do something with a session."""


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    """A session, and who decides on its changes."""

    session: SessionSummary
    desk: ReviewDesk

    @property
    def workspace(self) -> Path:
        return Path(self.session.workspace)

    async def open_proposals(self) -> list[ProposalUpdated]:
        return list(await self.desk.proposals(self.session.session_id))

    async def open_proposal(self, name: str | None) -> ProposalUpdated:
        """The proposal that is meant. InvalidInput if there is none, or it could be several."""
        found = await self.open_proposals()
        meant = [one for one in found if name is None or one.proposal_id.startswith(name)]
        if len(meant) == 1:
            return meant[0]
        if not found:
            raise InvalidInput(
                f"Nothing is proposed in session {self.session.session_id}.",
                suggestion="See what there is with: portico review show",
            )
        raise InvalidInput(
            "Several proposals are open." if meant else f"No open proposal begins with {name}.",
            suggestion=f"Choose with --proposal: {', '.join(one.proposal_id for one in found)}",
        )


def add_which_flags(parser: Arguments) -> None:
    parser.add_argument("--session", metavar="ID", help="the session; a unique beginning will do")
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        default=".",
        help="the folder whose latest session is meant (default: this one)",
    )


@asynccontextmanager
async def reviewed_session(
    flags: argparse.Namespace, environ: Mapping[str, str], suits: Suits | None = None
) -> AsyncIterator[tuple[Host, Reviewed]]:
    """The session that the flags mean, with a host that knows it.

    Without a name it is the latest of the folder that suits, if one does, else the latest.
    """
    async with open_host(environ) as host:
        session = await _meant(host, flags, suits, environ)
        yield host, Reviewed(session=session, desk=await desk_of(host, session, environ))


async def desk_of(host: Host, session: SessionSummary, environ: Mapping[str, str]) -> ReviewDesk:
    """Who decides on the changes of a session. What there is to see can be seen whoever has it."""
    if session.last_seq == 0:  # It has no log here: an editor opened it.
        return EditorReviews(host, session)
    here = LocalReviews(host.service, host.ports, host.reviews)
    held = host.store.lease_holder(session_lease(session.session_id)) is not None
    if host.service.is_open(session.session_id) or not held:
        return here
    # Only now: it takes a while to load, and most sessions are open nowhere.
    from portico.cli.joining import join
    from portico.doors.connect.review_calling import ServerReviews

    try:
        conversation = await join(host, session, environ, only_own_turns=True)
    except SessionBusy:
        return here  # a program that cannot be asked: it is named when there is something to decide
    return ServerReviews(conversation.calls, here)


async def proposes(desk: ReviewDesk, session_id: SessionId) -> bool:
    return bool(await desk.proposals(session_id))


async def can_undo(desk: ReviewDesk, session_id: SessionId) -> bool:
    known = [*await desk.proposals(session_id), *await desk.proposals(session_id, decided=True)]
    return any(one.can_undo for one in known)


async def is_unfinished(desk: ReviewDesk, session_id: SessionId) -> bool:
    return (await desk.status(session_id)).unfinished


async def _meant(
    host: Host, flags: argparse.Namespace, suits: Suits | None, environ: Mapping[str, str]
) -> SessionSummary:
    if flags.session is not None:
        return named_editor_session(environ, flags.session) or await find(host.store, flags.session)
    folder = in_full(flags.cwd)
    found = await host.store.summaries(workspace=str(folder), limit=_LOOKED_AT)
    found = [*found, *editor_sessions_in(environ, folder)[:_LOOKED_AT]]
    if not found:
        raise SessionNotFound(
            f"No session has been used in {folder} yet.",
            suggestion="Name one with --session, or its folder with --cwd; portico sessions list --all has them.",
        )
    if suits is not None:
        here = LocalReviews(host.service, host.ports, host.reviews)
        for session in found:
            if await suits(here, session.session_id):
                return session
    return found[0]
