"""Proposals of all sessions: put, list, apply, discard, undo, by file and by hunk.

Every call locks the proposals of a session, also against other processes, and first recovers interrupted
applies. Knows neither review modes nor git.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import ProposalUpdated
from portico.domain.ids import make_session_id
from portico.domain.reviews import ProposalOrigin, ProposedFile
from portico.review.files.atomic_apply import Applier, ChangeWriter, ConflictedChanges
from portico.review.files.disk import Disk
from portico.review.proposals.conflict_resolution import ConflictResolver, ConflictSides, Side
from portico.review.proposals.decision import DecidedProposal, ProposalDecider, closed
from portico.review.proposals.marks import FileMark, mark
from portico.review.proposals.payload import describe_file, proposal_payload
from portico.review.proposals.protection import Protection
from portico.review.proposals.selection import Selection, part
from portico.review.proposals.store import PendingSync, Proposal, ProposalRecord, ProposalStore, bare
from portico.review.text.change_set import LINK_MODE, ChangeSet, FileChange, FileContent, with_contents
from portico.sessions.ports import Clock

_KEPT_CLOSED = 20


class Proposals:
    """The proposals of all sessions, in one folder of the state folder."""

    def __init__(
        self,
        folder: Path,
        applier: Applier,
        clock: Clock,
        protect: Callable[[Path], Protection] = lambda _: Protection(),
    ) -> None:
        self._store = ProposalStore(folder)
        self._deciding = ProposalDecider(self._store, applier, clock, protect)
        self._applier = applier
        self._clock = clock
        self._protect = protect

    def put(
        self,
        session: str,
        workspace: Path,
        changes: ChangeSet,
        origin: ProposalOrigin,
        *,
        ignored: Collection[str] = (),
        source: str | None = None,
        disk: Disk | None = None,
    ) -> Proposal | None:
        """Propose changes, whose contents are loaded. None if there is nothing to propose and no open proposal.

        A turn's proposal replaces the open one. A tool's changes are added to the open one, file by file. A
        restore makes a proposal of its own, once for each `source`. Conflicts are looked for on the `disk`,
        as the person sees it.
        """
        disk = disk or self._applier.disk
        with self._held(session):
            records = self._store.records(session)
            if source is not None and (known := [one for one in records if one.proposal.source == source]):
                return known[0].proposal
            waiting = next((one for one in reversed(records) if _open(one, origin)), None)
            if waiting is not None:
                return self._replace(waiting, changes, ignored, disk)
            if not changes.changes:
                return None
            if self._refused_before(records, changes, origin):
                return records[-1].proposal
            begun = self._begun(session, workspace, changes, origin, records)
            marks = mark(workspace, changes, self._protect(workspace), ignored, disk=disk)
            return self._store.write(msgspec.structs.replace(begun, marks=marks, source=source), {})

    def list(self, session: str) -> tuple[Proposal, ...]:
        """Oldest first, those included that are decided."""
        with self._held(session):
            return tuple(record.proposal for record in self._store.records(session))

    def current(self, session: str) -> Proposal | None:
        """The newest that waits for a decision."""
        return next((one for one in reversed(self.list(session)) if one.status == "open"), None)

    def get(self, proposal_id: str, revision: int | None = None) -> Proposal:
        with self._found(proposal_id, revision) as record:
            return record.proposal

    def payload(self, proposal_id: str) -> ProposalUpdated:
        """Event payload of a proposal."""
        with self._found(proposal_id) as record, self._store.reader(record) as read:
            return proposal_payload(record.proposal, read)

    def file(
        self, proposal_id: str, path: str, disk: Disk | None = None
    ) -> tuple[ProposedFile, ConflictSides]:
        """One file in full, and its three sides, with the person's as on the `disk`."""
        with self._found(proposal_id) as record:
            proposal = record.proposal
            change = _change_to(proposal, path)
            with self._store.reader(record) as read:
                loaded = with_contents(ChangeSet((change,)), read).changes[0]
                shown = describe_file(change, proposal.marks.get(path, FileMark()), read)
            return shown, ConflictResolver(Path(proposal.workspace), disk or self._applier.disk).sides(loaded)

    def chosen(self, proposal_id: str, revision: int, selection: Selection = ()) -> ChangeSet:
        """The chosen part of a proposal, with its contents."""
        with self._found(proposal_id, revision) as record:
            return part(self._loaded(record, record.proposal.changes), selection).chosen

    def apply(
        self,
        proposal_id: str,
        revision: int,
        selection: Selection = (),
        resolve: Mapping[str, Side] | None = None,
        writer: ChangeWriter | None = None,
    ) -> DecidedProposal:
        """Write the chosen part to the workspace: all of it, or nothing and the conflicts.

        What was not chosen stays proposed. Denied files are left out, and refused if they are chosen by name.
        """
        with self._found(proposal_id, revision) as record:
            return self._deciding.apply(record, selection, resolve or {}, writer or self._applier)

    def discard(self, proposal_id: str, revision: int, selection: Selection = ()) -> DecidedProposal:
        """Give the chosen part up. No file of the workspace is touched."""
        with self._found(proposal_id, revision) as record:
            return self._deciding.discard(record, selection)

    def undo(
        self,
        proposal_id: str,
        revision: int | None = None,
        resolve: Mapping[str, Side] | None = None,
        writer: ChangeWriter | None = None,
    ) -> DecidedProposal:
        """Take the last apply back, what the person changed since kept: all of it, or nothing and the conflicts.

        What was applied is proposed again. To resolve by the agent's side takes a file back whatever it holds.
        """
        with self._found(proposal_id, revision) as record:
            return self._deciding.undo(record, resolve or {}, writer or self._applier)

    def owe_replay(self, session: str) -> None:
        """Note that the open proposal must be written to the working copy, before that is created again."""
        with self._held(session):
            if any(_open(record, "turn") for record in self._store.records(session)):
                self._store.replay_mark(session).touch(mode=0o600)

    def replay(self, session: str, folder: Path) -> None:
        """Write the open proposal of a turn to a new working copy, if `owe_replay` noted it."""
        mark = self._store.replay_mark(session)
        if not mark.exists():
            return
        with self._held(session):
            for record in self._store.records(session):
                if not _open(record, "turn"):
                    continue
                changes = self._loaded(record, record.proposal.changes)
                changes = _moved(changes, Path(record.proposal.workspace), folder)
                outcome = self._applier.apply(folder, changes)
                if isinstance(outcome, ConflictedChanges):
                    sides: dict[str, Side] = {change.path: "agent" for change in outcome.changes}
                    resolver = ConflictResolver(folder, self._applier.disk)
                    self._applier.apply(folder, resolver.resolve(changes, sides).changes)
            mark.unlink(missing_ok=True)

    def pending_syncs(self, session: str) -> Sequence[tuple[Proposal, tuple[PendingSync, ...]]]:
        """Decisions that the working copy does not have yet, with contents."""
        with self._held(session):
            return [
                (
                    record.proposal,
                    tuple(
                        PendingSync(
                            applied=self._loaded(record, one.applied),
                            discarded=self._loaded(record, one.discarded),
                        )
                        for one in record.proposal.unsettled
                    ),
                )
                for record in self._store.records(session)
                if record.proposal.unsettled
            ]

    def mark_synced(self, proposal: Proposal) -> None:
        """Record that the working copy has the decisions on a proposal."""
        with self._found(proposal.id) as record:
            left = tuple(one for one in record.proposal.unsettled if one not in proposal.unsettled)
            if left != record.proposal.unsettled:
                after = msgspec.structs.replace(record.proposal, unsettled=left)
                self._store.write(after, record.places)

    def forget(self, session: str) -> None:
        """Delete all proposals of a session."""
        with self._held(session):
            pass
        self._store.forget_session(session)

    @contextlib.contextmanager
    def _held(self, session: str) -> Iterator[None]:
        """Lock a session's proposals, and recover interrupted applies."""
        with self._store.held(session):
            if self._applier.unfinished:
                self._applier.recover()
            yield

    @contextlib.contextmanager
    def _found(self, proposal_id: str, revision: int | None = None) -> Iterator[ProposalRecord]:
        session = self._store.session_of(proposal_id)
        with self._held(session):
            record = self._store.load(session, proposal_id)
            if revision is not None and record.proposal.revision != revision:
                raise InvalidInput(
                    f"The proposal is now at revision {record.proposal.revision}, not {revision}.",
                    suggestion="Review it again, then decide.",
                )
            yield record

    def _replace(
        self, waiting: ProposalRecord, changes: ChangeSet, ignored: Collection[str], disk: Disk
    ) -> Proposal:
        """Next revision of the open proposal, if anything changed."""
        before = waiting.proposal
        if before.origin == "tool":
            changes = _overlaid(self._loaded(waiting, before.changes), changes)
            ignored = {*ignored, *(path for path, one in before.marks.items() if one.generated)}
        workspace = Path(before.workspace)
        marks = mark(workspace, changes, self._protect(workspace), ignored, disk=disk)
        stripped = bare(changes)
        if stripped == before.changes and marks == before.marks:
            return before
        if stripped.changes == before.changes.changes and marks == before.marks:
            # Only folders differ, which are not shown.
            after = msgspec.structs.replace(before, changes=stripped)
        else:
            status = "open" if changes.changes else closed(before)
            after = self._deciding.following(before, status, changes=changes, marks=marks)
        return self._store.write(after, waiting.places)

    def _begun(
        self,
        session: str,
        workspace: Path,
        changes: ChangeSet,
        origin: ProposalOrigin,
        earlier: Sequence[ProposalRecord],
    ) -> Proposal:
        """A new proposal. The oldest decided one is removed if there are too many."""
        for old in [one for one in earlier if one.proposal.status != "open"][:-_KEPT_CLOSED]:
            self._store.forget(session, old.proposal.id)
        latest = max((one.proposal.at_ms for one in earlier), default=0)
        at_ms = max(self._clock.now_ms(), latest + 1)  # Ids sort by time, also within a millisecond.
        return Proposal(
            id=make_session_id(at_ms, secrets.token_bytes(7)),
            session=session,
            workspace=str(workspace),
            origin=origin,
            revision=1,
            status="open",
            at_ms=at_ms,
            changes=changes,
            marks={},
        )

    def _refused_before(
        self, records: Sequence[ProposalRecord], changes: ChangeSet, origin: ProposalOrigin
    ) -> bool:
        """Whether nothing is proposed but what was left over, because it is denied, when the last one closed."""
        last = records[-1].proposal if records else None
        return (
            last is not None
            and last.origin == origin
            and bare(changes).changes == last.changes.changes
            and all(change.path in last.denied for change in last.changes.changes)
        )

    def _loaded(self, record: ProposalRecord, changes: ChangeSet) -> ChangeSet:
        with self._store.reader(record) as read:
            return with_contents(changes, read)


def _moved(changes: ChangeSet, workspace: Path, folder: Path) -> ChangeSet:
    """The changes for another tree: absolute links into the workspace lead into that tree instead."""
    old, new = os.fsencode(os.path.realpath(workspace)), os.fsencode(folder)

    def moved(content: FileContent | None, mode: int | None) -> FileContent | None:
        if content is None or mode != LINK_MODE:
            return content
        target = content.loaded()
        inside = target == old or target.startswith(old + b"/")
        return FileContent.of(new + target[len(old) :]) if inside else content

    return msgspec.structs.replace(
        changes,
        changes=tuple(
            msgspec.structs.replace(one, old=moved(one.old, one.old_mode), new=moved(one.new, one.new_mode))
            for one in changes.changes
        ),
    )


def _open(record: ProposalRecord, origin: ProposalOrigin) -> bool:
    proposal = record.proposal
    return origin != "restored" and proposal.origin == origin and proposal.status == "open"


def _overlaid(open_ones: ChangeSet, new: ChangeSet) -> ChangeSet:
    """The open changes, with files that are proposed again replaced."""
    again = {path for change in new.changes for path in (change.path, change.old_path) if path is not None}
    kept = tuple(one for one in open_ones.changes if one.path not in again and one.old_path not in again)
    return ChangeSet(
        (*kept, *new.changes),
        tuple(dict.fromkeys((*open_ones.made, *new.made))),
        tuple(dict.fromkeys((*open_ones.emptied, *new.emptied))),
    )


def _change_to(proposal: Proposal, path: str) -> FileChange:
    for change in proposal.changes.changes:
        if change.path == path:
            return change
    raise InvalidInput(
        f"The proposal has no change to {path}.",
        suggestion="Look at the proposal again: it may have been decided already.",
    )
