"""Proposal as an ACP tool call with one diff per file, and the permission request that asks for a decision.

Values only. Paths are those of the workspace. Changes that an editor cannot show as two texts are listed by
name.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from portico.acp import _schema as acp
from portico.domain.errors import PorticoError
from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ProposedFile
from portico.review.proposals.decision import DecidedProposal
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange, FileContent
from portico.review.text.lines import read_text

APPLY, KEEP, DISCARD = "portico:apply", "portico:keep", "portico:discard"
_LARGEST_FILE = 512 * 1024
_LARGEST_CARD = 1024 * 1024
_MOST_LOCATIONS = 50
_MOST_LINES = 100
_OPTIONS = [
    acp.PermissionOption(option_id=APPLY, name="Apply all", kind="allow_once"),
    acp.PermissionOption(option_id=KEEP, name="Keep for later", kind="reject_once"),
    acp.PermissionOption(option_id=DISCARD, name="Discard", kind="reject_once"),
]


class ProposalCard:
    """One revision of a proposal in the editor, from its display to the decision."""

    def __init__(self, proposal: ProposalUpdated, changes: ChangeSet, workspace: Path) -> None:
        self._proposal = proposal
        self._workspace = workspace
        self._call_id = f"portico-{proposal.proposal_id}-{proposal.revision}"
        self._content = [*self._notes(), *self._diffs(changes)]

    def announced(self) -> acp.ToolCall:
        return acp.ToolCall(**self._pending)

    def question(self, session_id: str) -> acp.RequestPermissionRequest:
        call = acp.ToolCallUpdate(**self._pending)
        return acp.RequestPermissionRequest(session_id=session_id, tool_call=call, options=_OPTIONS)

    def ended(self, status: acp.ToolCallStatus, words: str) -> acp.ToolCallProgress:
        return acp.ToolCallProgress(
            tool_call_id=self._call_id, status=status, content=[text(words), *self._content]
        )

    @property
    def _pending(self) -> dict[str, Any]:
        """The fields of the tool call while it waits for a decision."""
        return {
            "tool_call_id": self._call_id,
            "title": self._title,
            "kind": "edit",
            "status": "pending",
            "content": self._content,
            "locations": self._locations,
        }

    @property
    def _title(self) -> str:
        files = self._proposal.files
        count = len(files) + self._proposal.unlisted
        added, removed = sum(file.added for file in files), sum(file.removed for file in files)
        return f"Proposed changes: {counted(count, 'file')} (+{added} −{removed})"

    @property
    def _locations(self) -> list[acp.ToolCallLocation]:
        return [
            acp.ToolCallLocation(
                path=self._shown(file.path), line=file.hunks[0].new_start if file.hunks else None
            )
            for file in self._proposal.files[:_MOST_LOCATIONS]
        ]

    def _shown(self, path: str) -> str:
        return str(self._workspace / path)

    def _notes(self) -> Iterator[acp.ToolCallContent]:
        """Facts that the diffs do not show."""
        lines = [line for file in self._proposal.files if (line := _note(file)) is not None]
        if lines:
            yield text(_listed(lines))

    def _diffs(self, changes: ChangeSet) -> Iterator[acp.ToolCallContent]:
        room = _LARGEST_CARD
        unshown: list[str] = []
        for change in changes.changes:
            size = sum(0 if one is None else one.size for one in (change.old, change.new))
            diff = self._diff(change) if size <= min(room, _LARGEST_FILE) else None
            if diff is None:
                unshown.append(f"{change.operation} {change.path}")
            else:
                room -= size
                yield diff
        if unshown:
            yield text("Not shown, because they are long or no text:\n" + _listed(unshown))

    def _diff(self, change: FileChange) -> acp.Diff | None:
        old, new = _text_of(change.old), _text_of(change.new)
        if old is None or new is None:
            return None
        created = change.operation is ChangeOperation.CREATE
        return acp.Diff(path=self._shown(change.path), old_text=None if created else old, new_text=new)


def applied_message(decided: DecidedProposal, workspace: Path) -> str:
    """Message about the result of an apply."""
    if decided.conflicted:
        names, session = ", ".join(decided.conflicted), decided.proposal.session
        return (
            f"Nothing was applied: you have changed the same lines of {names} meanwhile. Your files are as they were, "
            f"and the proposal stays. `portico review show {session}` shows both sides, and `portico review apply "
            f"--session {session}` with --mine or --theirs resolves them."
        )
    lines = [f"Applied to {workspace}."]
    if decided.merged:
        lines.append(f"Your own changes were kept in {', '.join(decided.merged)}.")
    if decided.refused:
        lines.append(f"Skipped, because it is protected: {', '.join(decided.refused)}.")
    return " ".join(lines)


def failure_message(error: PorticoError) -> str:
    return f"{error.message} {error.suggestion}" if error.suggestion else error.message


def kept_message(session: str) -> str:
    return f"Kept for later; nothing was applied. `portico review show {session}` shows it again."


def restore_hint(checkpoint: str, session: str) -> str:
    return f"To put them back: `portico checkpoints restore {checkpoint} --session {session}`."


def text(words: str) -> acp.Content:
    return acp.Content(content=acp.TextContent(text=words))


def counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else noun + 's'}"


def _listed(lines: Sequence[str]) -> str:
    more = len(lines) - _MOST_LINES
    return "\n".join((*lines[:_MOST_LINES], *((f"and {more} more",) if more > 0 else ())))


def _text_of(content: FileContent | None) -> str | None:
    if content is None:
        return ""
    found = read_text(content.loaded())
    return None if found is None else found.content


def _note(file: ProposedFile) -> str | None:
    facts = [
        "is deleted" if file.operation == "delete" else "",
        f"was {file.old_path}" if file.old_path is not None else "",
        "cannot be applied" if file.denied else "",
        "is in conflict with what you changed" if file.conflict else "",
        "is generated" if file.generated else "",
    ]
    summary = ", ".join(fact for fact in facts if fact)
    warning = file.warning or ""
    if not summary and not warning:
        return None
    return f"{file.path} {summary}. {warning}".rstrip() if summary else f"{file.path}: {warning}"
