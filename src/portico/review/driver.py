"""Driver of the review turns of one session: checkpoint, branch or working copy before a turn, proposal or
checkpoint after it.
"""

import asyncio
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.domain.events import AnyPayload, CheckpointCreated, Notice
from portico.processes.tasks import cancel_and_wait
from portico.review.branches.session_branches import Branches
from portico.review.checkpoints.checkpoint import Checkpoint, Moment
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.checkpoints.snapshot_repository import SnapshotIncomplete
from portico.review.editor.unsaved_buffers import WorkspaceView
from portico.review.recovery import ReviewRecovery
from portico.review.session_records import ReviewRecord, ReviewRecords
from portico.review.sync import ProposalSync
from portico.review.text.names import name_some
from portico.review.working_copies.lifecycle import WorkingCopies, WorkingCopy

_SLUG_WORDS = 6
_SLUG_LETTERS = 40
_LABEL_LETTERS = 80


class ReviewParts(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that the review of every session is built from."""

    review_records: ReviewRecords
    working_copies: WorkingCopies
    sync: ProposalSync
    checkpoints: Checkpoints
    branches: Branches
    recovery: ReviewRecovery


class SessionReview:
    """Review turns of one session. Implements `sessions.ports.Review`."""

    def __init__(
        self,
        review_record: ReviewRecord,
        parts: ReviewParts,
        working_copy: WorkingCopy | None,
        pending: Sequence[AnyPayload] = (),
    ) -> None:
        self._session = review_record.session
        self.mode = review_record.mode
        self._workspace = Path(review_record.workspace)
        self._parts = parts
        self._working_copy = working_copy
        self._reported_left_out = False
        self._kept = True
        self._label = "a turn"
        self._pending = list(pending)
        self._continuation: asyncio.Task[None] | None = None

    @property
    def folder(self) -> Path:
        return self._workspace if self._working_copy is None else self._working_copy.folder

    async def begin_turn(self, label: str) -> list[AnyPayload]:
        self._label = label or "a turn"
        await self._stop_continuation()
        await self._parts.recovery.recover(self._workspace)
        async with self._parts.review_records.held(self._session):
            if self._working_copy is not None:
                payloads = await self._begin_in_copy(self._working_copy)
            else:
                payloads = await self._begin_branch(label) if self.mode == "branch" else []
                self._kept = False
                payloads.append(await self._keep())
                self._kept = True
        late, self._pending = self._pending, []
        late += await self._parts.recovery.notices(self._workspace)
        return [*late, *payloads]

    async def end_turn(self) -> list[AnyPayload]:
        await self._stop_continuation()
        await self._parts.recovery.recover(self._workspace)
        async with self._parts.review_records.held(self._session):
            if self._working_copy is not None:
                return await self._parts.sync.collect(self._working_copy)
            if not self._kept:
                return []  # It failed before the turn, and would again.
            return await self._keep_changed()

    async def adopt(self, path: str, data: bytes) -> bool:
        """Copy unsaved text of the person's editor into the working copy, unless the agent changed the file."""
        return self._working_copy is not None and await self._parts.working_copies.adopt(
            self._working_copy, path, data
        )

    async def _begin_in_copy(self, working_copy: WorkingCopy) -> list[AnyPayload]:
        """Make sure that the working copy exists, is up to date, and has no changes that are not proposed."""
        working_copy = await self._parts.sync.open(self._workspace, self._session, working_copy.mode)
        self._working_copy = working_copy
        view = await self._parts.sync.see(self._session, self._workspace)
        # A turn that was killed could not propose what it had changed.
        payloads = await self._parts.sync.collect(working_copy, view)
        await self._parts.working_copies.refresh(working_copy, view.typed)
        if view.unread:
            payloads.append(_unread(view))
        if working_copy.left_out and not self._reported_left_out:
            payloads.append(_left_out(working_copy))
        self._reported_left_out = True
        return payloads

    async def _begin_branch(self, label: str) -> list[AnyPayload]:
        review_record = self._parts.review_records.find(self._session)
        begun = None if review_record is None else review_record.slug
        slug = begun or await self._free_slug(label)
        if review_record is not None and begun is None:
            self._parts.review_records.keep(msgspec.structs.replace(review_record, slug=slug))
        session = await self._parts.branches.begin(self._workspace, slug)
        if begun is not None:
            return []
        home = session.home_branch or session.home_commit[:12]
        return [
            Notice(
                level="info", text=f"The session works on the branch {session.branch}; you were on {home}."
            )
        ]

    async def _free_slug(self, label: str) -> str:
        slug = branch_slug(label) or self._session[-8:]
        own = f"{slug}-{self._session[-5:]}"
        others = (f"{own}-{number}" for number in itertools.count(2))
        names = itertools.chain((slug, own), others)
        name = next(names)
        while await self._parts.branches.taken(self._workspace, name):
            name = next(names)
        return name

    async def _keep(self) -> AnyPayload:
        label = short_label(self._label)
        checkpoints = self._parts.checkpoints
        try:
            taken = await checkpoints.create(
                self._workspace, label, hurried=self._hurried, session=self._session
            )
            return checkpoint_payload(taken)
        except SnapshotIncomplete:
            # It continues while the agent works, so that the next turn can have a checkpoint.
            self._continuation = asyncio.create_task(
                checkpoints.continue_snapshot(self._workspace), name=f"keeping the rest of {self._workspace}"
            )
            raise

    async def _stop_continuation(self) -> None:
        if self._continuation is not None:
            await cancel_and_wait(self._continuation)
            self._continuation = None

    async def _keep_changed(self) -> list[AnyPayload]:
        """Take a checkpoint after a turn, unless nothing changed."""
        label = short_label(f"After: {self._label}")
        checkpoint = await self._parts.checkpoints.create_if_changed(
            self._workspace, label, Moment.AFTER_TURN, hurried=self._hurried, session=self._session
        )
        return [] if checkpoint is None else [checkpoint_payload(checkpoint)]

    @property
    def _hurried(self) -> bool:
        """In direct mode a turn may run without a checkpoint, so it does not wait long for one."""
        return self.mode == "direct"


def checkpoint_payload(checkpoint: Checkpoint) -> CheckpointCreated:
    return CheckpointCreated(
        checkpoint_id=checkpoint.id,
        label=checkpoint.label,
        moment=checkpoint.moment.value,
        left_out=checkpoint.left_out_count,
    )


def short_label(text: str) -> str:
    """First words of a prompt, in one line."""
    line = " ".join(text.split())
    if len(line) <= _LABEL_LETTERS:
        return line
    return line[:_LABEL_LETTERS].rsplit(" ", 1)[0].rstrip() + "…"


def branch_slug(label: str) -> str:
    """First words of a prompt as part of a branch name; empty if none fit."""
    words = re.findall(r"[a-z0-9]+", label.casefold())[:_SLUG_WORDS]
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:_SLUG_LETTERS]
        if len(longer) > _SLUG_LETTERS:
            break
        slug = longer
    return slug


def _unread(view: WorkspaceView) -> Notice:
    paths = sorted(map(view.shown, view.unread))
    return Notice(
        level="warning",
        text=f"The agent has {name_some(paths)} without your unsaved changes, which your editor did not report.",
        details="\n".join(sorted(set(view.unread.values()))),
    )


def _left_out(working_copy: WorkingCopy) -> Notice:
    lines = [f"{each.path}: {each.reason}" for each in working_copy.left_out]
    names = name_some([each.path for each in working_copy.left_out])
    return Notice(
        level="info",
        text=f"The agent's working copy differs from your files in: {names}.",
        details="\n".join(lines),
    )
