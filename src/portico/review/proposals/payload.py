"""Event payload of a proposal, bounded however large the proposal is."""

from collections.abc import Callable, Iterable, Mapping

from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ProposedFile, ProposedHunk
from portico.domain.secret_files import is_private
from portico.review.proposals.marks import FileMark
from portico.review.proposals.store import Proposal
from portico.review.text.change_set import ChangeSet, FileChange, with_contents
from portico.review.text.diffs import Hunk, LineDiff, diff
from portico.review.text.patch import unified_patch

DIFF_BYTES = 64 * 1024
ALL_DIFFS_BYTES = 256 * 1024
LISTED_FILES = 2000
# A patch is hardly shorter than what it is made from; longer files need not be read to know that.
_READ_BYTES = 16 * DIFF_BYTES

Read = Callable[[str], bytes]


def proposal_payload(proposal: Proposal, read: Read) -> ProposalUpdated:
    """The event of a proposal; `read` finds contents by their digests."""
    return ProposalUpdated(
        proposal_id=proposal.id,
        revision=proposal.revision,
        status=proposal.status,
        origin=proposal.origin,
        files=describe_files(proposal.changes.changes[:LISTED_FILES], proposal.marks, read),
        unlisted=max(0, len(proposal.changes.changes) - LISTED_FILES),
        can_undo=proposal.can_undo,
    )


def describe_files(
    changes: Iterable[FileChange], marks: Mapping[str, FileMark], read: Read
) -> tuple[ProposedFile, ...]:
    """These files, with as many of their diffs as fit."""
    files: list[ProposedFile] = []
    left = ALL_DIFFS_BYTES
    for change in changes:
        file = describe_file(change, marks.get(change.path, FileMark()), read, min(left, DIFF_BYTES))
        # Once there is no room for one, nothing after it is read: that would take long for little.
        left = 0 if file.shortened and left < DIFF_BYTES else left - len(file.diff.encode())
        files.append(file)
    return tuple(files)


def describe_file(change: FileChange, mark: FileMark, read: Read, most: int | None = None) -> ProposedFile:
    """One file, with diff and hunks unless they are longer than `most` bytes."""
    text: str | None = None
    hunks: tuple[Hunk, ...] = ()
    size = sum(0 if one is None else one.size for one in (change.old, change.new))
    # What may be a secret stands in no event.
    secret = any(is_private(path.split("/")) for path in (change.path, change.old_path or change.path))
    if most is None or (most > 0 and size <= _READ_BYTES and not secret):
        loaded = with_contents(ChangeSet((change,)), read).changes[0]
        compared = _compared(loaded)
        text = _decoded(unified_patch(loaded, compared))
        if most is not None and len(text.encode()) > most:
            text = None
        else:
            hunks = () if change.links else compared.hunks
    return ProposedFile(
        path=change.path,
        operation=change.operation.value,
        old_path=change.old_path,
        added=mark.added,
        removed=mark.removed,
        diff=text or "",
        hunks=tuple(
            ProposedHunk(
                hunk_id=one.hunk_id,
                old_start=one.old_start,
                old_lines=one.old_lines,
                new_start=one.new_start,
                new_lines=one.new_lines,
            )
            for one in hunks
        ),
        binary=mark.binary,
        generated=mark.generated,
        shortened=text is None,
        conflict=mark.conflict,
        denied=mark.denied,
        warning=mark.warning,
    )


def _compared(change: FileChange) -> LineDiff:
    old = b"" if change.old is None else change.old.loaded()
    new = b"" if change.new is None else change.new.loaded()
    return diff(old, new)


def _decoded(patch: bytes) -> str:
    try:
        return patch.decode()
    except UnicodeDecodeError:
        return patch.decode("latin-1")
