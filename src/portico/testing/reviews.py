"""In-memory twin of the review port, which changes nothing."""

from collections.abc import Sequence
from pathlib import Path

from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode


class MemoryReview:
    """The agent works in the workspace itself. A test may say what a turn has to tell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before: Sequence[AnyPayload] = ()
        self.after: Sequence[AnyPayload] = ()
        self.refusal: Exception | None = None
        self.labels: list[str] = []

    async def begin_turn(self, label: str) -> Sequence[AnyPayload]:
        self.labels.append(label)
        return self._noted(self.before)

    async def end_turn(self) -> Sequence[AnyPayload]:
        return self._noted(self.after)

    def _noted(self, payloads: Sequence[AnyPayload]) -> Sequence[AnyPayload]:
        if self.refusal is not None:
            raise self.refusal
        return payloads


class MemoryReviewProvider:
    """`folders` says where agents work in a mode, if not in the workspace.

    `outside` is what changed in the person's files during a turn in which they were `noted`, or of their
    repository alone `git_noted`.
    `at_stake` refuses to let a session be deleted, and `refusal` that it works in another mode.
    """

    def __init__(self) -> None:
        self.folders: dict[ReviewMode, Path] = {}
        self.opened: dict[SessionId, MemoryReview] = {}
        self.forgotten: list[SessionId] = []
        self.noted: list[SessionId] = []
        self.git_noted: list[SessionId] = []
        self.outside: Sequence[AnyPayload] = ()
        self.at_stake: PorticoError | None = None
        self.refusal: PorticoError | None = None

    async def recover(self, workspace: Path) -> Sequence[AnyPayload]:
        """No folder here is ever left half changed."""
        return ()

    async def check(self, workspace: Path, mode: ReviewMode, session_id: SessionId | None = None) -> None:
        """Every folder can be worked in, in every way, but for what a test refuses."""
        if session_id is not None and self.refusal is not None:
            raise self.refusal

    async def open(self, session_id: SessionId, workspace: Path, mode: ReviewMode) -> MemoryReview:
        return self.opened.setdefault(session_id, MemoryReview(self.folders.get(mode, workspace)))

    async def note_files(
        self, session_id: SessionId, workspace: Path, label: str, *, git_only: bool = False
    ) -> Sequence[AnyPayload]:
        (self.git_noted if git_only else self.noted).append(session_id)
        return ()

    async def changed_outside(
        self, session_id: SessionId, workspace: Path, *, beside: bool = False
    ) -> Sequence[AnyPayload]:
        return self.outside if session_id in (*self.noted, *self.git_noted) else ()

    async def salvage(self, session_id: SessionId, workspace: Path) -> Sequence[AnyPayload]:
        return ()

    async def check_deletable(self, session_id: SessionId) -> None:
        if self.at_stake is not None:
            raise self.at_stake

    async def forget(self, session_id: SessionId, workspace: Path) -> None:
        self.forgotten.append(session_id)
