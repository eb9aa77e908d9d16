"""Carries out what a person decides on a proposal: apply, undo, discard. The agent's tree learns of it."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.review.arrangements import Arrangement
from portico.review.disk.applying import Writer
from portico.review.proposals.deciding import Decided
from portico.review.proposals.proposals import Proposals
from portico.review.proposals.resolving import Side
from portico.review.proposals.selecting import Selection
from portico.review.proposals.store import Proposal
from portico.review.session_review import Parts
from portico.review.text.changes import ChangeSet, paths_of
from portico.review.writing import Deed, Writing, Written

_TAKEN_BACK_ALREADY = Notice(
    level="info",
    text="Nothing had to be taken back: the files were as before already. What was applied is proposed again.",
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision came to, how the proposal stands then, and what the log should say."""

    decided: Decided
    proposal: ProposalUpdated
    payloads: tuple[AnyPayload, ...]


class Decisions:
    """For all sessions. The caller holds the session, and its folder is settled."""

    def __init__(self, parts: Parts, proposals: Proposals, writing: Writing) -> None:
        self._parts = parts
        self._proposals = proposals
        self._writing = writing

    async def apply(
        self,
        arrangement: Arrangement,
        proposal_id: str,
        revision: int,
        selection: Selection,
        resolve: Mapping[str, Side] | None,
    ) -> Outcome:
        """Write the chosen part to the person's files, with a checkpoint from before, all of it or nothing."""
        return await self._write(
            arrangement,
            await self.owned(arrangement.session, proposal_id, revision),
            lambda writer: self._proposals.apply(proposal_id, revision, selection, resolve, writer),
            doing="applying a proposal",
        )

    async def undo(
        self,
        arrangement: Arrangement,
        proposal_id: str,
        revision: int | None,
        resolve: Mapping[str, Side] | None,
    ) -> Outcome:
        """Take the last apply back, with a checkpoint from before, all of it or nothing."""
        outcome = await self._write(
            arrangement,
            await self.owned(arrangement.session, proposal_id, revision),
            lambda writer: self._proposals.undo(proposal_id, revision, resolve, writer),
            doing="taking an apply back",
        )
        if not outcome.decided.already:
            return outcome
        return msgspec.structs.replace(outcome, payloads=(*outcome.payloads, _TAKEN_BACK_ALREADY))

    async def discard(
        self, arrangement: Arrangement, proposal_id: str, revision: int, selection: Selection
    ) -> Outcome:
        """Give the chosen part up. It goes from the agent's own tree as well."""
        await self.owned(arrangement.session, proposal_id)
        decided = await asyncio.to_thread(self._proposals.discard, proposal_id, revision, selection)
        return await self._outcome(arrangement, proposal_id, Written(decided, [], {}))

    async def owned(self, session: str, proposal_id: str, revision: int | None = None) -> Proposal:
        """A proposal, which must be one of the session."""
        proposal = await asyncio.to_thread(self._proposals.get, proposal_id, revision)
        if proposal.session != session:
            raise InvalidInput(
                f"The session {session} has no proposal {proposal_id}.",
                suggestion=f"See what it proposes with: portico review show {session}",
            )
        return proposal

    async def _write(
        self, arrangement: Arrangement, proposal: Proposal, decide: Callable[[Writer], Decided], *, doing: str
    ) -> Outcome:
        last = proposal.applies[-1].undo if proposal.applies else ChangeSet()
        deed = Deed(
            session=arrangement.session,
            workspace=Path(arrangement.workspace),
            paths=paths_of(proposal.changes) | paths_of(last),
            doing=doing,
        )
        return await self._outcome(arrangement, proposal.id, await self._writing.write(deed, decide))

    async def _outcome(self, arrangement: Arrangement, proposal_id: str, written: Written) -> Outcome:
        """What a decision came to, once the agent's tree knows of it."""
        session, workspace = arrangement.session, Path(arrangement.workspace)
        told = [*written.told, *await self._parts.gathering.settle(workspace, session, written.typed)]
        proposal = await asyncio.to_thread(self._proposals.payload, proposal_id)
        told += await self._parts.settlement.notices(workspace)
        return Outcome(decided=written.decided, proposal=proposal, payloads=(*told, proposal))
