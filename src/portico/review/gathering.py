"""Keeps the tree that an agent works in and the proposals made from it in step, both ways.

What the agent changed becomes the proposal of the turn. What the person decided is told to the tree, and is told
again if a process died before it was.
"""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from portico.domain.errors import FileMissing, InvalidInput
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.domain.reviews import ProposalOrigin, ReviewMode
from portico.review.checkpoints.shadows import LeftOut
from portico.review.proposals.proposals import Proposals
from portico.review.text.changes import ChangeSet
from portico.review.workplaces.workplaces import Workplace, Workplaces

_NAMED = 5


class Gathering:
    """For all sessions that work in a tree of their own."""

    def __init__(self, workplaces: Workplaces, proposals: Proposals) -> None:
        self._workplaces = workplaces
        self._proposals = proposals
        self._told: dict[str, tuple[LeftOut, ...]] = {}

    async def open(self, workspace: Path, session: str, mode: ReviewMode) -> Workplace:
        """The session's tree. One that has to be made anew gets what the session has proposed and nobody decided."""
        known = await self._workplaces.find(workspace, session)
        if known is not None and known.mode != mode:
            await self._leave(known, mode)
            known = None
        there = known is not None and await asyncio.to_thread(known.top.is_dir)
        workplace = await self._workplaces.open(workspace, session, mode=mode)
        if not there:
            await asyncio.to_thread(self._proposals.replay, session, workplace.folder)
        return workplace

    async def gather(self, workplace: Workplace) -> list[AnyPayload]:
        """Propose what the agent has changed; what there is to tell if that is something new."""
        told = await self.settle(workplace.workspace, workplace.session)
        survey = await self._workplaces.survey(workplace)
        _, payloads = await self.put(workplace.session, workplace.workspace, survey.changes, "turn")
        told += payloads
        if survey.kept_back != self._told.get(workplace.session, ()):
            self._told[workplace.session] = survey.kept_back
            told += [_kept_back(survey.kept_back)] if survey.kept_back else []
        return told

    async def put(
        self,
        session: str,
        workspace: Path,
        changes: ChangeSet,
        origin: ProposalOrigin,
        *,
        ignored: Collection[str] = (),
        source: str | None = None,
    ) -> tuple[ProposalUpdated | None, list[AnyPayload]]:
        """Propose changes: how the proposal stands, and what is new about it for the log."""
        named = _nameable(changes)
        known = {one.id: one.revision for one in await asyncio.to_thread(self._proposals.list, session)}
        proposal = await asyncio.to_thread(
            lambda: self._proposals.put(session, workspace, named, origin, ignored=ignored, source=source)
        )
        if proposal is None:
            return None, []
        told = await asyncio.to_thread(self._proposals.payload, proposal.id)
        return told, [told] if known.get(proposal.id) != proposal.revision else []

    async def settle(self, workspace: Path, session: str) -> list[AnyPayload]:
        """Tell the agent's tree what was decided of its proposals since it was last told."""
        unclear: list[str] = []
        for proposal, settlings in await asyncio.to_thread(self._proposals.unsettled, session):
            workplace = None
            if proposal.origin == "turn":
                workplace = await self._workplaces.find(workspace, session)
            if workplace is not None:
                try:
                    for one in settlings:
                        unclear += await self._workplaces.settle(workplace, one.applied, one.discarded)
                except FileMissing:
                    # Somebody deleted it. The next one is made from the person's tree, and knows all of it.
                    pass
            await asyncio.to_thread(self._proposals.settled, proposal)
        return [_unclear(unclear)] if unclear else []

    async def _leave(self, workplace: Workplace, mode: ReviewMode) -> None:
        """Take a tree away that another mode of working needs no more, if nothing in it waits."""
        if await asyncio.to_thread(workplace.top.is_dir):
            await self.gather(workplace)
        listed = await asyncio.to_thread(self._proposals.list, workplace.session)
        if any(one.origin == "turn" and one.status == "open" for one in listed):
            raise InvalidInput(
                f"The session still proposes what it did in {workplace.mode} mode.",
                suggestion=f"Apply or discard that, then go on in {mode} mode.",
            )
        await self._workplaces.close(workplace)


def _nameable(changes: ChangeSet) -> ChangeSet:
    """Changes to files that can be spoken of. A name that is no text stands in no record and in no event."""
    named = tuple(one for one in changes.changes if _is_text(one.path + (one.old_path or "")))
    return msgspec.structs.replace(changes, changes=named)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unclear(paths: Sequence[str]) -> Notice:
    return Notice(
        level="warning",
        text=f"What you decided could not be carried over to the agent's own copy of {', '.join(paths[:_NAMED])}.",
        details="The agent has changed the same lines since. It may propose them again.",
    )


def _kept_back(left_out: Sequence[LeftOut]) -> Notice:
    return Notice(
        level="warning",
        text=f"The agent changed {', '.join(one.path for one in left_out[:_NAMED])}, which cannot be proposed.",
        details="\n".join(f"{one.path} {one.reason}" for one in left_out[:100]),
    )
