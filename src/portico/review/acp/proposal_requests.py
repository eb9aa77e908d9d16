"""Answers Porter's requests to keep changes as a proposal, in every review mode.

The host shows the proposal as any other. In an editor that speaks ACP, where changes are not reviewed, the person is
asked at once whether to apply it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico.acp.extensions import PROPOSAL_UPDATED, PROPOSE_CHANGES, KeptProposal
from portico.conductor.permissions.wire_format import knows_portico, with_capability
from portico.conductor.session_folders import SessionFolders, SessionFoldersProxy
from portico.domain import codecs
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.ids import SessionId
from portico.rpc.messages import INVALID_PARAMS, Message, RpcError

if TYPE_CHECKING:
    from portico.domain.events import ProposalUpdated
    from portico.review.acp.change_request import AskedChange
    from portico.review.acp.editor_sessions import EditorSessions
    from portico.review.service import ReviewService


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    changes: msgspec.Raw


class EditorReviews(msgspec.Struct, frozen=True, kw_only=True):
    """Reviews for the sessions of editors: opened when the first proposal is made."""

    agent: str
    open_reviews: "Callable[[], ReviewService]"
    open_sessions: "Callable[[], EditorSessions]"
    make_id: Callable[[], SessionId]


class ProposalRequests(SessionFoldersProxy):
    """Only in chains whose agent is Porter. What it needs is imported with the first request."""

    name = "proposals"
    client_methods = SessionFoldersProxy.client_methods | {"initialize"}
    agent_methods = frozenset({PROPOSE_CHANGES})

    def __init__(self, options: EditorReviews) -> None:
        super().__init__()
        self._options = options
        self._client_knows_portico = False

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self._client_knows_portico = knows_portico(message.params)
            message = message.with_params(with_capability(message.params, "proposals"))
        super().from_client(message)

    def from_agent(self, message: Message) -> None:
        self.node.spawn(self._answer(message), "keeping a proposal")

    async def _answer(self, message: Message) -> None:
        from portico.review.acp.change_request import AskedChange

        try:
            asked = codecs.decode_json(message.params, _Asked)
            changes = codecs.decode_json(asked.changes, tuple[AskedChange, ...])
            kept = await self._keep(asked.session_id, changes)
        except msgspec.DecodeError as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{message.method}: {error}"))
        except PorticoError as error:
            hint = f" {error.suggestion}" if error.suggestion else ""
            self.refuse_agent(message, RpcError(INVALID_PARAMS, error.message + hint))
        else:
            self.answer_agent(message, kept)

    async def _keep(self, agent_session_id: str, changes: "tuple[AskedChange, ...]") -> KeptProposal:
        from portico.review.acp.change_request import AskedChanges
        from portico.review.acp.proposal_tool import keep_asked, update_of
        from portico.review.text.change_set import ChangeSet

        folders = self.folders.get(agent_session_id)
        if folders is None:
            raise InvalidInput(f"Unknown session {agent_session_id!r}.")
        reviews, workspace = self._options.open_reviews(), Path(folders.workspace)
        session_id = SessionId(folders.session) or self._name(agent_session_id, folders)

        async def propose(understood: ChangeSet) -> "ProposalUpdated | None":
            return (await reviews.propose(session_id, workspace, understood))[0]

        proposal, warnings = await keep_asked(AskedChanges(changes), workspace, Path(folders.cwd), propose)
        if self._client_knows_portico:
            self.tell_client(PROPOSAL_UPDATED, update_of(proposal, agent_session_id))
        elif not folders.session:
            await self._let_decide(agent_session_id, session_id, workspace, reviews)
        now = await reviews.payload(session_id, proposal.proposal_id)
        return KeptProposal(proposal_id=now.proposal_id, status=now.status, warnings=warnings)

    def _name(self, agent_session_id: str, folders: SessionFolders) -> SessionId:
        """Portico's id for the session of an editor; `portico review` finds it from now on."""
        from portico.review.acp.editor_sessions import EditorSession

        options, sessions = self._options, self._options.open_sessions()
        known = sessions.find(options.agent, agent_session_id)
        if known is not None:
            return known.session_id
        named = EditorSession(
            agent=options.agent,
            agent_session_id=agent_session_id,
            session_id=options.make_id(),
            workspace=folders.workspace,
            mode="direct",
        )
        sessions.remember(named)
        return named.session_id

    async def _let_decide(
        self, agent_session_id: str, session_id: SessionId, workspace: Path, reviews: "ReviewService"
    ) -> None:
        """Show the proposal in the editor, and do what the person chooses."""
        from portico.acp import _schema as acp
        from portico.review.acp.turns import EditorTurns
        from portico.review.acp.working_copy_files import EditorBuffers
        from portico.review.acp.working_copy_proxy import ReviewedSession

        def tell(update: acp.SessionUpdate) -> None:
            self.tell_client(
                "session/update", acp.SessionNotification(session_id=agent_session_id, update=update)
            )

        session = ReviewedSession(
            agent_session_id=agent_session_id,
            session_id=session_id,
            workspace=workspace,
            review=await reviews.open(session_id, workspace, "direct"),
            files=None,
        )
        buffers = EditorBuffers(self.ask_client, acp.FileSystemCapabilities())
        await EditorTurns(session, reviews, tell, self.ask_client).finish(buffers, asyncio.Event(), asks=True)
