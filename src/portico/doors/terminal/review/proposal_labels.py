"""Short labels and follow-up commands for proposals and checkpoints. Safe to print."""

from collections.abc import Iterable

from portico.domain.events import CheckpointCreated, CheckpointRestored, Notice, ProposalUpdated
from portico.domain.reviews import FileOperation, ProposedFile
from portico.doors.terminal.labels import pluralize
from portico.doors.terminal.sanitizer import clean_line

_OPERATIONS: dict[FileOperation, str] = {
    "create": "new",
    "update": "",
    "delete": "deleted",
    "rename": "renamed",
}


def proposal_title(proposal: ProposalUpdated, minus: str = "-") -> str:
    """State and size of a proposal."""
    size = proposal_size(proposal, minus)
    match proposal.status:
        case "applied":
            return "Applied to your files"
        case "discarded":
            return "Discarded; your files are unchanged"
        case "open" if proposal.origin == "restored":
            return f"Your own changes since the checkpoint: {size}"
        case "open":
            return f"Remaining in the proposal: {size}" if proposal.can_undo else f"Proposed: {size}"


def proposal_size(proposal: ProposalUpdated, minus: str = "-") -> str:
    files = len(proposal.files) + proposal.unlisted
    added = sum(file.added for file in proposal.files)
    removed = sum(file.removed for file in proposal.files)
    return " ".join((pluralize(files, "file"), *_counts(added, removed, minus)))


def file_path(file: ProposedFile) -> str:
    path = clean_line(file.path)
    return f"{clean_line(file.old_path)} → {path}" if file.old_path else path


def file_counts(file: ProposedFile, minus: str = "-") -> tuple[str, str]:
    """Added and removed lines; empty for a binary file."""
    added, removed = f"+{file.added}" if file.added else "", f"{minus}{file.removed}" if file.removed else ""
    return ("", "") if file.binary else (added, removed)


def file_marks(file: ProposedFile) -> list[str]:
    """Facts about a file that matter before its diff is read."""
    marks = [_OPERATIONS[file.operation], "binary" if file.binary else ""]
    marks += ["generated" if file.generated else "", "cannot be applied" if file.denied else ""]
    marks += ["conflict: you changed or removed it" if file.conflict else ""]
    return [mark for mark in marks if mark]


def file_lines(files: Iterable[ProposedFile], unlisted: int, minus: str = "-") -> list[str]:
    """One line per file, with its warning below."""
    lines: list[str] = []
    for file in files:
        facts = ", ".join(file_marks(file))
        lines.append("  ".join(filter(None, (file_path(file), " ".join(_both(file, minus)), facts))))
        lines += [f"  {clean_line(file.warning)}"] if file.warning else []
    return [*lines, f"and {pluralize(unlisted, 'more file')}"] if unlisted else lines


def proposal_commands(
    proposal: ProposalUpdated, session_id: str, *, among_others: bool = False
) -> list[tuple[str, str]]:
    """Actions on a proposal with their commands, which name it if it is `among_others`."""
    which = session_id
    if among_others or proposal.origin != "turn":
        which = f"{session_id} --proposal {clean_line(proposal.proposal_id)}"
    ways: list[tuple[str, str]] = []
    if proposal.status == "open":
        ways += [("show", f"portico review show {which} --diff")]
        ways += [("apply", f"portico review apply --session {which}")]
        ways += [("discard", f"portico review discard --session {which}")]
    if proposal.can_undo:
        ways += [("undo", f"portico review undo --session {which}")]
    return ways


def restored_words(restored: CheckpointRestored) -> str:
    return f"Restored checkpoint {clean_line(restored.checkpoint_id)}: {pluralize(restored.files, 'file')} changed"


def restore_commands(restored: CheckpointRestored, session_id: str) -> list[tuple[str, str]]:
    checkpoint = clean_line(restored.kept_checkpoint_id)
    ways = [("undo this restore", f"portico checkpoints restore {checkpoint} --session {session_id}")]
    if restored.proposal_id is not None:
        which = f"{session_id} --proposal {clean_line(restored.proposal_id)}"
        ways.insert(0, ("your changes since", f"portico review show {which} --diff"))
    return ways


def notice_commands(notice: Notice, session_id: str) -> list[tuple[str, str]]:
    """Commands that show and restore what a notice is about."""
    if notice.checkpoint_id is None:
        return []
    checkpoint = clean_line(notice.checkpoint_id)
    return [
        ("show", f"portico checkpoints diff {checkpoint} --session {session_id}"),
        ("restore", f"portico checkpoints restore {checkpoint} --session {session_id}"),
    ]


def left_out_words(checkpoint: CheckpointCreated) -> str | None:
    """A note about the files that a checkpoint does not include; None if there are none."""
    if not checkpoint.left_out:
        return None
    files = pluralize(checkpoint.left_out, "file")
    return f"The checkpoint does not include {files}: too large or too many. A restore does not change them."


def _both(file: ProposedFile, minus: str) -> list[str]:
    return [count for count in file_counts(file, minus) if count]


def _counts(added: int, removed: int, minus: str) -> list[str]:
    return [*([f"+{added}"] if added else []), *([f"{minus}{removed}"] if removed else [])]
