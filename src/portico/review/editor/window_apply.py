"""Apply of a change set through an attached window, as one edit that one undo takes back.

Files that a window cannot write go to the disk, unless they have unsaved text. If a window stops answering,
the files are read again to find out what it did.
"""

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from portico.domain.errors import InvalidInput, StoreFailed, WindowLost, WindowRefused
from portico.domain.ids import SessionId
from portico.domain.windows import WindowEdit, WindowEditResult
from portico.files import real_path
from portico.review.editor.edits import edits_of, is_same
from portico.review.editor.unsaved_buffers import UnsavedBuffer, WorkspaceView, ask, seen
from portico.review.files.apply_plan import ApplyLimits, ApplyPlan, ApplyPlanner, NotWritable
from portico.review.files.atomic_apply import (
    AppliedChanges,
    Applier,
    ApplyReceipt,
    ConflictedChanges,
    undo_of,
)
from portico.review.files.disk import Disk
from portico.review.text.change_set import ChangeSet, FileChange, paths_of
from portico.review.text.lines import encode_like, read_text
from portico.review.text.names import name_some
from portico.sessions.windows import Window, Windows

_TRIES = 2

_Answer = TypeVar("_Answer")


class WindowApplier:
    """Implements `ChangeWriter` for one decision. It runs in a thread; windows live on the `loop`.

    Changes that must be `saved` go to the disk, past every window.
    """

    def __init__(
        self,
        applier: Applier,
        windows: Windows,
        loop: asyncio.AbstractEventLoop,
        session: str,
        view: WorkspaceView,
        *,
        doing: str,
        saved: bool = False,
    ) -> None:
        self.view = view
        self._applier = applier
        self._windows = windows
        self._loop = loop
        self._session = session
        self._doing = doing
        self._saved = saved

    @property
    def disk(self) -> Disk:
        return self.view.disk

    def apply(
        self, root: Path, changes: ChangeSet, receipt: ApplyReceipt
    ) -> AppliedChanges | ConflictedChanges:
        touched = _places(root, changes)
        conflicted: tuple[FileChange, ...] = ()
        for _ in range(_TRIES):
            self._check_seen(touched)
            plan = ApplyPlanner(root, self.disk, ApplyLimits()).plan(changes)
            if plan.conflicted:
                return ConflictedChanges(plan.conflicted)
            window = self.view.window
            edits = None
            if window is not None and window.abilities.edits and not self._saved:
                edits = edits_of(plan, self.view.buffers)
            if window is None or edits is None:
                return self._on_disk(root, changes, touched, receipt)
            applied, draft = self._drafted(plan, receipt)
            try:
                edited = self._edited(window, edits, root) if edits else WindowEditResult(applied=True)
                if edited is not None and edited.applied:
                    return self._kept(root, edits, applied, draft, receipt)
            finally:
                with contextlib.suppress(OSError):
                    draft.unlink(missing_ok=True)
            if edited is not None and edited.not_saved:
                raise self._not_saved(window, edited)
            if edited is None or not edited.changed:
                return self._on_disk(root, changes, touched, receipt)
            conflicted = _changes_to(root, changes, edited.changed)
            self.view = self._look(root, touched)
        return ConflictedChanges(conflicted or changes.changes)

    def _edited(self, window: Window, edits: Sequence[WindowEdit], root: Path) -> WindowEditResult | None:
        """The window's answer; None if it changed nothing, and the disk is to be written instead."""
        try:
            return self._asked(window.edit(SessionId(self._session), self._label(edits), edits))
        except WindowRefused:
            return None
        except WindowLost as error:
            return self._found_out(window, edits, root, error)

    def _found_out(
        self, window: Window, edits: Sequence[WindowEdit], root: Path, error: WindowLost
    ) -> WindowEditResult | None:
        """Result of an edit that was not answered. WindowLost if it was applied in part."""
        view = self._look(root, {one.path for one in edits})
        done: list[str] = []
        undone: list[str] = []
        unknown: list[str] = []
        for one in edits:
            now = self._text_now(one.path, view)
            shown = self.view.shown(os.path.realpath(one.path))
            if isinstance(now, WindowLost):
                unknown.append(shown)
            elif is_same(now, one.content):
                done.append(shown)
            else:
                (undone if is_same(now, one.expected) else unknown).append(shown)
        if len(done) == len(edits):
            return WindowEditResult(applied=True)
        if len(undone) == len(edits) and self._windows.of(root) is not window:
            self.view = view
            return None
        states = [
            f"{name_some(paths)} {words}"
            for paths, words in (
                (done, "has the change" if len(done) == 1 else "have the change"),
                (undone, "is as it was" if len(undone) == 1 else "are as they were"),
                (unknown, "is in an unknown state" if len(unknown) == 1 else "are in an unknown state"),
            )
            if paths
        ]
        raise WindowLost(
            f"{error.message} State of the files: {'; '.join(states)}.",
            suggestion="Check these files in the editor, then try again: those that have the change already are not touched.",
        ) from error

    def _look(self, root: Path, places: set[str]) -> WorkspaceView:
        return seen(self._asked(ask(self._windows, self._session, root, places)))

    def _text_now(self, name: str, view: WorkspaceView) -> str | WindowLost | None:
        place = os.path.realpath(name)
        if (buffer := view.buffers.get(place)) is not None:
            return buffer.text
        gone = view.window is not self.view.window and place in self.view.buffers
        if gone or place in view.unread:
            return WindowLost("Its unsaved text cannot be looked at.")
        try:
            text = read_text(Disk().read(Path(place)).data)
        except OSError:
            return None
        return WindowLost("It is not a text file any more.") if text is None else text.content

    def _drafted(self, plan: ApplyPlan, receipt: ApplyReceipt) -> tuple[AppliedChanges, Path]:
        """Result of the edit and its receipt, written before any file is changed, in case the disk is full."""
        applied = AppliedChanges(undo_of(plan, _emptied(plan)), plan.merged)
        draft = receipt.place.with_name(f"{receipt.place.name}.edit")
        try:
            draft.unlink(missing_ok=True)
            Disk().write_new(draft, receipt.written(applied), 0o600)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StoreFailed(
                f"The apply could not be recorded ({error.strerror or error}); nothing was changed.",
                suggestion="Free some space if the disk is full, and try again.",
            ) from error
        return applied, draft

    def _kept(
        self,
        root: Path,
        edits: Sequence[WindowEdit],
        applied: AppliedChanges,
        draft: Path,
        receipt: ApplyReceipt,
    ) -> AppliedChanges:
        """Complete the receipt, and remove folders that are empty now."""
        try:
            draft.replace(receipt.place)
        except OSError as error:
            raise StoreFailed(
                f"The files are changed in the editor, but that could not be recorded ({error.strerror}).",
                suggestion="Fix the cause and try again: files that have the change already are not touched.",
            ) from error
        Disk().sync_folder(receipt.place.parent)
        for folder in applied.undo.made:
            with contextlib.suppress(OSError):
                real_path.rmdir(Path(os.path.realpath(root), folder.path))
        for one in edits:
            place = os.path.realpath(one.path)
            before = self.view.buffers.pop(place, None)
            if before is not None and one.content is not None:
                self.view.buffers[place] = UnsavedBuffer(
                    before.name, one.content, encode_like(before.data, one.content)
                )
        return applied

    def _on_disk(
        self, root: Path, changes: ChangeSet, touched: set[str], receipt: ApplyReceipt
    ) -> AppliedChanges | ConflictedChanges:
        before, self.view = self.view, self._look(root, touched)
        typed = self.view.buffers.keys() | self.view.unread.keys()
        if self.view.window is not before.window:
            typed |= before.buffers.keys()  # Editors keep what is not saved, also when they are closed.
        if touched & typed:
            raise self._unsaved(sorted(touched & typed))
        return self._applier.apply(root, changes, receipt)

    def _check_seen(self, touched: set[str]) -> None:
        if unread := sorted(touched & self.view.unread.keys()):
            raise self._unsaved(unread)

    def _unsaved(self, places: Sequence[str]) -> InvalidInput:
        names = name_some([self.view.shown(place) for place in places])
        editor = "the editor" if self.view.window is None else self.view.window.name
        have = "has" if len(places) == 1 else "have"
        return InvalidInput(
            f"{names} {have} unsaved changes in {editor}, so nothing was written.",
            suggestion=f"Save or discard your unsaved changes in {names}, then try again.",
        )

    def _not_saved(self, window: Window, edited: WindowEditResult) -> NotWritable:
        """The disk is not tried: it may let through what keeps the person from changing the file."""
        files, left = (
            name_some([self.view.shown(os.path.realpath(name)) for name in names])
            for names in (edited.not_saved, edited.changed)
        )
        rest = f"the changes in {left} could not be undone" if left else "everything is as it was"
        return NotWritable(
            f"{files} could not be saved in {window.name}; {rest}.",
            suggestion="Make it writable there, or leave it out, then try again.",
        )

    def _label(self, edits: Sequence[WindowEdit]) -> str:
        first = self.view.shown(os.path.realpath(edits[0].path))
        more = len(edits) - 1
        return f"Portico: {self._doing} ({first}{f' and {more} more' if more else ''})"

    def _asked(self, question: Coroutine[Any, Any, _Answer]) -> _Answer:
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()


def _places(root: Path, changes: ChangeSet) -> set[str]:
    """Real paths of the files in a change set; a link is not followed."""
    followed = ChangeSet(tuple(one for one in changes.changes if not one.links))
    links = {root / one.path for one in changes.changes if one.links}
    return {os.path.realpath(root / path) for path in paths_of(followed)} | {
        str(Path(os.path.realpath(one.parent), one.name)) for one in links
    }


def _changes_to(root: Path, changes: ChangeSet, names: Sequence[str]) -> tuple[FileChange, ...]:
    places = {os.path.realpath(name) for name in names}
    return tuple(one for one in changes.changes if _places(root, ChangeSet((one,))) & places)


def _emptied(plan: ApplyPlan) -> list[str]:
    """The folders that are empty once the plan is carried out, deepest first."""
    leaving = {write.step.target for write in plan.writes if write.data is None}
    arriving = {write.step.target for write in plan.writes if write.data is not None}
    gone: list[str] = []
    for folder in plan.intent.emptied:
        inside = {str(one) for one in Path(folder.path).iterdir()}
        if inside <= leaving | set(gone) and not any(one.startswith(f"{folder.path}/") for one in arriving):
            gone.append(folder.path)
    return gone
