"""A proposal as a changeset: its files, whether they were reviewed, and the operations on them."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ProposedFile
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.uris import Side, changeset_uri, content_uri, file_uri

APPLY, DISCARD, UNDO = "apply", "discard", "undo"


class ChangesetProjection:
    def __init__(self, session: str, workspace: str, proposal: ProposalUpdated) -> None:
        self.uri = changeset_uri(session, proposal.proposal_id)
        self.proposal = proposal
        self._session = session
        self._workspace = workspace
        self._reviewed: set[str] = set()

    @property
    def is_open(self) -> bool:
        """Whether there is still something to do with it."""
        return self.proposal.status == "open" or self.proposal.can_undo

    def take(self, proposal: ProposalUpdated) -> list[ahp.StateAction]:
        """The proposal has changed; files that changed have to be reviewed again."""
        before = {one.path: one for one in self.proposal.files}
        self.proposal = proposal
        self._reviewed &= {one.path for one in proposal.files if before.get(one.path) == one}
        return [ahp.ChangesetContentChangedAction(files=self._files(), operations=self._operations())]

    def review(self, file_ids: Sequence[str], *, reviewed: bool) -> None:
        """Mark files as reviewed, or no longer. ValueError for a file that is not in it."""
        paths = [self.path_of(one) for one in file_ids]
        self._reviewed = self._reviewed | set(paths) if reviewed else self._reviewed - set(paths)

    def path_of(self, file_id: str) -> str:
        """The path of a file in the proposal. ValueError when it is not in it."""
        for one in self.proposal.files:
            if self._uri(one.path) == file_id:
                return one.path
        raise ValueError(f"{file_id} is not in this changeset.")

    def entry(self) -> ahp.Changeset:
        label = "Proposed changes" if self.proposal.status == "open" else "Applied changes"
        return ahp.Changeset(
            label=label,
            uri_template=self.uri,
            change_kind="session",
            capabilities=ahp.ChangesetCapabilities(review={}),
        )

    def state(self) -> ahp.ChangesetState:
        return ahp.ChangesetState(status="ready", files=self._files(), operations=self._operations())

    def _operations(self) -> list[ahp.ChangesetOperation]:
        both = ["changeset", "resource"]
        if self.proposal.status == "open":
            return [
                ahp.ChangesetOperation(id=APPLY, label="Apply", scopes=both, icon="check", status="idle"),
                ahp.ChangesetOperation(
                    id=DISCARD,
                    label="Discard",
                    scopes=both,
                    icon="trash",
                    confirmation="Discard the proposed changes?",
                    status="idle",
                ),
            ]
        if self.proposal.can_undo:
            return [
                ahp.ChangesetOperation(
                    id=UNDO, label="Undo apply", scopes=["changeset"], icon="discard", status="idle"
                )
            ]
        return []

    def _files(self) -> list[ahp.ChangesetFile]:
        return [
            ahp.ChangesetFile(
                id=self._uri(one.path),
                edit=self._edit(one),
                reviewed=True if one.path in self._reviewed else None,
            )
            for one in self.proposal.files
        ]

    def _edit(self, file: ProposedFile) -> ahp.FileEdit:
        return ahp.FileEdit(
            before=None
            if file.operation == "create"
            else self._side(file, file.old_path or file.path, "before"),
            after=None if file.operation == "delete" else self._side(file, file.path, "after"),
            diff=ahp.FileEditDiffStats(added=file.added, removed=file.removed),
        )

    def _side(self, file: ProposedFile, path: str, side: Side) -> ahp.FileEditSide:
        content = content_uri(self._session, self.proposal.proposal_id, file.path, side)
        return ahp.FileEditSide(uri=self._uri(path), content=ahp.ContentRef(uri=content))

    def _uri(self, path: str) -> str:
        return file_uri(str(PurePosixPath(self._workspace) / path))
