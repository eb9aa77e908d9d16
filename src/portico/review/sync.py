"""Synchronization of a working copy with its proposals: agent changes become a proposal, decisions go back to
the copy.

A decision that the working copy did not get because a process died is repeated.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec

from portico.domain.errors import FileMissing, InvalidInput
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.domain.reviews import ProposalOrigin, ReviewMode
from portico.review.editor.unsaved_buffers import WorkspaceView, see
from portico.review.files.omitted_file import OmittedFile
from portico.review.proposals.lifecycle import Proposals
from portico.review.text.change_set import ChangeSet, paths_of
from portico.review.text.names import is_text, name_some
from portico.review.working_copies.lifecycle import WorkingCopies, WorkingCopy
from portico.sessions.windows import Windows


class ProposalSync:
    """Synchronizes the working copies of all sessions."""

    def __init__(self, working_copies: WorkingCopies, proposals: Proposals, windows: Windows) -> None:
        self._working_copies = working_copies
        self._proposals = proposals
        self._windows = windows
        self._reported: dict[str, tuple[OmittedFile, ...]] = {}
        self._late: dict[str, list[AnyPayload]] = {}

    async def open(self, workspace: Path, session: str, mode: ReviewMode) -> WorkingCopy:
        """Open the session's working copy. A new one gets the changes of the open proposal."""
        known = await self.check(workspace, session, mode)
        if known is not None and known.mode != mode:
            await self._working_copies.close(known)
            known = None
        if known is None or not await asyncio.to_thread(known.top.is_dir):
            await asyncio.to_thread(self._proposals.owe_replay, session)
        working_copy = await self._working_copies.open(workspace, session, mode=mode)
        await asyncio.to_thread(self._proposals.replay, session, working_copy.folder)
        return working_copy

    async def check(self, workspace: Path, session: str, mode: ReviewMode) -> WorkingCopy | None:
        """The session's working copy. InvalidInput if another mode would remove it and its proposal is open."""
        known = await self._working_copies.find(workspace, session)
        if known is None or known.mode == mode:
            return known
        if await asyncio.to_thread(known.top.is_dir):
            # Nothing is recorded now; the next result includes it.
            self._late[session] = await self.collect(known)
        listed = await asyncio.to_thread(self._proposals.list, session)
        if any(one.origin == "turn" and one.status == "open" for one in listed):
            raise InvalidInput(
                f"The session still proposes what it did in {known.mode} mode.",
                suggestion=f"Apply or discard that, then continue in {mode} mode.",
            )
        return known

    async def see(self, session: str, workspace: Path, only: Collection[str] | None = None) -> WorkspaceView:
        """Unsaved text of the person, in these files or in the whole workspace."""
        return await see(self._windows, session, workspace, only)

    async def collect(self, working_copy: WorkingCopy, view: WorkspaceView | None = None) -> list[AnyPayload]:
        """Propose the agent's changes; payloads if there is anything new."""
        # A process that was killed may have made the tree, and not written to it what is proposed.
        await asyncio.to_thread(self._proposals.replay, working_copy.session, working_copy.folder)
        payloads = self._late.pop(working_copy.session, [])
        typed = {} if view is None else view.typed
        payloads += await self.sync_decisions(working_copy.workspace, working_copy.session, typed)
        survey = await self._working_copies.survey(working_copy)
        _, proposed = await self.put(
            working_copy.session, working_copy.workspace, survey.changes, "turn", view=view
        )
        payloads += proposed
        if survey.kept_back != self._reported.get(working_copy.session, ()):
            self._reported[working_copy.session] = survey.kept_back
            payloads += [_kept_back(survey.kept_back)] if survey.kept_back else []
        return payloads

    async def put(
        self,
        session: str,
        workspace: Path,
        changes: ChangeSet,
        origin: ProposalOrigin,
        *,
        ignored: Collection[str] = (),
        source: str | None = None,
        view: WorkspaceView | None = None,
    ) -> tuple[ProposalUpdated | None, list[AnyPayload]]:
        """Propose changes; the proposal's payload, and what is new for the log."""
        named = _nameable(changes)
        view = view or await self.see(session, workspace, paths_of(named))
        known = {one.id: one.revision for one in await asyncio.to_thread(self._proposals.list, session)}
        proposal = await asyncio.to_thread(
            lambda: self._proposals.put(
                session, workspace, named, origin, ignored=ignored, source=source, disk=view.disk
            )
        )
        if proposal is None:
            return None, []
        payload = await asyncio.to_thread(self._proposals.payload, proposal.id)
        return payload, [payload] if known.get(proposal.id) != proposal.revision else []

    async def sync_decisions(
        self, workspace: Path, session: str, typed: Mapping[str, bytes] = MappingProxyType({})
    ) -> list[AnyPayload]:
        """Bring decisions on proposals into the working copy.

        Unsaved text of the person (`typed`) counts as theirs.
        """
        unclear: list[str] = []
        for proposal, pending in await asyncio.to_thread(self._proposals.pending_syncs, session):
            working_copy = None
            if proposal.origin == "turn":
                working_copy = await self._working_copies.find(workspace, session)
            if working_copy is not None:
                try:
                    for one in pending:
                        unclear += await self._working_copies.follow_decisions(
                            working_copy, one.applied, one.discarded, typed
                        )
                except FileMissing:
                    # It was deleted. A new one is made from the person's tree, which has the decisions.
                    pass
            await asyncio.to_thread(self._proposals.mark_synced, proposal)
        return [_unclear(unclear)] if unclear else []


def _nameable(changes: ChangeSet) -> ChangeSet:
    """Changes to files that can be spoken of. A name that is no text stands in no record and in no event."""
    named = tuple(one for one in changes.changes if is_text(one.path + (one.old_path or "")))
    return msgspec.structs.replace(changes, changes=named)


def _unclear(paths: Sequence[str]) -> Notice:
    return Notice(
        level="warning",
        text=f"Your decision could not be brought into the agent's working copy of {name_some(paths)}.",
        details="The agent has changed the same lines since. It may propose them again.",
    )


def _kept_back(left_out: Sequence[OmittedFile]) -> Notice:
    return Notice(
        level="warning",
        text=f"The agent changed {name_some([one.path for one in left_out])}, which cannot be proposed.",
        details="\n".join(f"{one.path} {one.reason}" for one in left_out[:100]),
    )
