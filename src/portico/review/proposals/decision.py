"""Decisions on one proposal: apply a part, discard a part, undo the last apply.

The new record of the proposal is the receipt of the apply: both happen, or neither. The caller holds the
proposals of the session.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.reviews import ProposalStatus
from portico.review.files.atomic_apply import (
    AppliedChanges,
    Applier,
    ApplyReceipt,
    ChangeWriter,
    ConflictedChanges,
)
from portico.review.proposals.conflict_resolution import ConflictResolver, Side
from portico.review.proposals.marks import FileMark, mark, reason_against_link
from portico.review.proposals.protection import Protection
from portico.review.proposals.selection import Selection, SplitChanges, join_changes, part, split_off
from portico.review.proposals.store import (
    AppliedPart,
    PendingSync,
    Proposal,
    ProposalRecord,
    ProposalStore,
    bare,
)
from portico.review.text.change_set import ChangeSet, with_contents
from portico.sessions.ports import Clock

_KEPT_APPLIES = 10


class DecidedProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal after a decision. If files are `conflicted`, no file was changed.

    `merged` files also have the person's changes; `refused` ones were left out. If `already`, no file had to
    be written.
    """

    proposal: Proposal
    merged: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    already: bool = False


class ProposalDecider:
    """Decisions on all proposals in a store."""

    def __init__(
        self, store: ProposalStore, applier: Applier, clock: Clock, protect: Callable[[Path], Protection]
    ) -> None:
        self._store = store
        self._applier = applier
        self._clock = clock
        self._protect = protect

    def apply(
        self, record: ProposalRecord, selection: Selection, resolve: Mapping[str, Side], writer: ChangeWriter
    ) -> DecidedProposal:
        proposal = record.proposal
        if denied := [one.path for one in selection if one.path in proposal.denied]:
            raise PermissionDenied(
                f"{denied[0]} cannot be applied. {proposal.marks[denied[0]].warning or ''}".rstrip(),
                suggestion="Leave it out, or change the file by hand.",
            )
        parted = part(self._loaded(record, proposal.changes), selection, proposal.denied)
        if not parted.chosen.changes and not parted.chosen.made:
            raise InvalidInput(
                "This proposal has nothing left to apply.",
                suggestion="Discard it, or undo the last apply.",
            )
        self._check_links(proposal, parted.chosen)
        resolved = ConflictResolver(Path(proposal.workspace), writer.disk).resolve(parted.chosen, resolve)
        marks = self._marks_of_rest(proposal, parted)
        left = [one for one in parted.rest.changes if one.path not in proposal.denied]

        def after(applied: AppliedChanges) -> Proposal:
            made = AppliedPart(changes=parted.chosen, undo=applied.undo)
            return self.following(
                proposal,
                "open" if left else "applied",
                changes=parted.rest,
                marks=marks,
                applies=(*proposal.applies, made)[-_KEPT_APPLIES:],
                unsettled=(*proposal.unsettled, PendingSync(applied=parted.chosen)),
            )

        outcome = self._write(record, resolved.changes, after, writer)
        if isinstance(outcome, ConflictedChanges):
            return self._mark_conflicts(record, outcome)
        refused = () if selection else tuple(sorted(proposal.denied))
        return DecidedProposal(proposal=self._again(record), merged=outcome.merged, refused=refused)

    def discard(self, record: ProposalRecord, selection: Selection) -> DecidedProposal:
        proposal = record.proposal
        parted = split_off(self._loaded(record, proposal.changes), selection)
        after = self.following(
            proposal,
            "open" if parted.rest.changes else closed(proposal),
            changes=parted.rest,
            marks=self._marks_of_rest(proposal, parted),
            unsettled=(*proposal.unsettled, PendingSync(discarded=parted.chosen)),
        )
        return DecidedProposal(proposal=self._store.write(after, record.places))

    def undo(
        self, record: ProposalRecord, resolve: Mapping[str, Side], writer: ChangeWriter
    ) -> DecidedProposal:
        proposal = record.proposal
        if not proposal.applies:
            raise InvalidInput("Nothing of this proposal has been applied, so there is nothing to undo.")
        last = proposal.applies[-1]
        undo = self._loaded(record, last.undo)
        workspace = Path(proposal.workspace)
        resolved = ConflictResolver(workspace, writer.disk).resolve(undo, resolve)
        changes = join_changes(self._loaded(record, last.changes), self._loaded(record, proposal.changes))
        marks = mark(workspace, changes, self._protect(workspace))

        def after(_: AppliedChanges) -> Proposal:
            return self.following(
                proposal,
                "open",
                changes=changes,
                marks=marks,
                applies=proposal.applies[:-1],
                unsettled=(*proposal.unsettled, PendingSync(applied=undo)),
            )

        outcome = self._write(record, resolved.changes, after, writer)
        if isinstance(outcome, ConflictedChanges):
            return DecidedProposal(proposal=proposal, conflicted=tuple(one.path for one in outcome.changes))
        already = bool(undo.changes) and not outcome.undo.changes
        return DecidedProposal(proposal=self._again(record), merged=outcome.merged, already=already)

    def following(self, proposal: Proposal, status: ProposalStatus, **changed: object) -> Proposal:
        """The next revision of a proposal."""
        return msgspec.structs.replace(
            proposal,
            revision=proposal.revision + 1,
            status=status,
            at_ms=max(self._clock.now_ms(), proposal.at_ms),
            **changed,
        )

    def _write(
        self,
        record: ProposalRecord,
        changes: ChangeSet,
        after: Callable[[AppliedChanges], Proposal],
        writer: ChangeWriter,
    ) -> AppliedChanges | ConflictedChanges:
        proposal = record.proposal
        receipt = ApplyReceipt(
            self._store.place(proposal.session, proposal.id),
            lambda applied: self._store.encoded(after(applied), record.places),
        )
        return writer.apply(Path(proposal.workspace), changes, receipt)

    def _again(self, record: ProposalRecord) -> Proposal:
        """The proposal after its record was replaced."""
        proposal = record.proposal
        if self._applier.unfinished:
            self._applier.recover()
        self._store.sweep(proposal.session, proposal.id)
        return self._store.load(proposal.session, proposal.id).proposal

    def _mark_conflicts(self, record: ProposalRecord, outcome: ConflictedChanges) -> DecidedProposal:
        paths = {change.path for change in outcome.changes}
        proposal = record.proposal
        marks = {
            path: msgspec.structs.replace(one, conflict=one.conflict or path in paths)
            for path, one in proposal.marks.items()
        }
        if marks != proposal.marks:
            after = self.following(proposal, proposal.status, marks=marks)
            proposal = self._store.write(after, record.places)
        return DecidedProposal(proposal=proposal, conflicted=tuple(sorted(paths)))

    def _check_links(self, proposal: Proposal, chosen: ChangeSet) -> None:
        """Refuse links that lead out of the workspace by now."""
        workspace = Path(proposal.workspace)
        links = [change for change in chosen.changes if change.links]
        protection = self._protect(workspace) if links else Protection()
        for change in links:
            if reason := reason_against_link(workspace, change, protection):
                raise PermissionDenied(
                    f"{change.path} is a symbolic link. {reason}",
                    suggestion="Leave it out, or make it by hand.",
                )

    def _marks_of_rest(self, proposal: Proposal, parted: SplitChanges) -> dict[str, FileMark]:
        """Marks of the remaining changes; computed again for files of which only a part remains."""
        whole = {change.path: change for change in proposal.changes.changes}
        cut = [
            change
            for change in parted.rest.changes
            if bare(ChangeSet((change,))).changes[0] != whole[change.path]
        ]
        workspace = Path(proposal.workspace)
        fresh = mark(workspace, ChangeSet(tuple(cut)), self._protect(workspace))
        return {
            change.path: msgspec.structs.replace(
                fresh.get(change.path, proposal.marks[change.path]),
                generated=proposal.marks[change.path].generated,
            )
            for change in parted.rest.changes
        }

    def _loaded(self, record: ProposalRecord, changes: ChangeSet) -> ChangeSet:
        with self._store.reader(record) as read:
            return with_contents(changes, read)


def closed(proposal: Proposal) -> ProposalStatus:
    """Status of a proposal with no changes left."""
    return "applied" if proposal.applies else "discarded"
