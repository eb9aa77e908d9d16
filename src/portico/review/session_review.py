"""One session under review, as its host sees it: where the agent works, and what happens around each turn."""

import asyncio
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.domain.events import AnyPayload, CheckpointCreated, Notice
from portico.review.arrangements import Arrangement, Arrangements
from portico.review.branches.branches import Branches
from portico.review.checkpoints.checkpoint import Checkpoint, Moment
from portico.review.checkpoints.checkpoints import Checkpoints
from portico.review.checkpoints.shadows import NotWhole
from portico.review.gathering import Gathering
from portico.review.settlement import Settlement
from portico.review.windows.seeing import Sight
from portico.review.workplaces.workplaces import Workplace, Workplaces
from portico.sessions.deadlines import put_down

_SLUG_WORDS = 6
_SLUG_LETTERS = 40
_LABEL_LETTERS = 80
_NAMED = 5


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What reviews are made of."""

    arrangements: Arrangements
    workplaces: Workplaces
    gathering: Gathering
    checkpoints: Checkpoints
    branches: Branches
    settlement: Settlement


class SessionReview:
    """Implements `sessions.ports.Review`."""

    def __init__(
        self,
        arrangement: Arrangement,
        parts: Parts,
        workplace: Workplace | None,
        untold: Sequence[AnyPayload] = (),
    ) -> None:
        self._session = arrangement.session
        self.mode = arrangement.mode
        self._workspace = Path(arrangement.workspace)
        self._parts = parts
        self._workplace = workplace
        self._told_left_out = False
        self._kept = True
        self._label = "a turn"
        self._untold = list(untold)
        self._going_on: asyncio.Task[None] | None = None

    @property
    def folder(self) -> Path:
        return self._workspace if self._workplace is None else self._workplace.folder

    async def begin_turn(self, label: str) -> list[AnyPayload]:
        self._label = label or "a turn"
        await self._stop_going_on()
        await self._parts.settlement.settle(self._workspace)
        async with self._parts.arrangements.held(self._session):
            if self._workplace is not None:
                told = await self._begin_apart(self._workplace)
            else:
                told = await self._begin_branch(label) if self.mode == "branch" else []
                self._kept = False
                told.append(await self._keep())
                self._kept = True
        late, self._untold = self._untold, []
        late += await self._parts.settlement.notices(self._workspace)
        return [*late, *told]

    async def end_turn(self) -> list[AnyPayload]:
        await self._stop_going_on()
        await self._parts.settlement.settle(self._workspace)
        async with self._parts.arrangements.held(self._session):
            if self._workplace is not None:
                return await self._parts.gathering.gather(self._workplace)
            if not self._kept:
                return []  # It was said before the turn, and nobody should wait for the same again.
            return await self._keep_changed()

    async def adopt(self, path: str, data: bytes) -> bool:
        """Let the agent have what the person has in an editor and has not saved, if it left the file alone."""
        return self._workplace is not None and await self._parts.workplaces.adopt(self._workplace, path, data)

    async def _begin_apart(self, workplace: Workplace) -> list[AnyPayload]:
        """See to it that the tree is there, holds what the person has, and owes the person nothing."""
        workplace = await self._parts.gathering.open(self._workspace, self._session, workplace.mode)
        self._workplace = workplace
        sight = await self._parts.gathering.see(self._session, self._workspace)
        # A turn that was killed could not propose what it had changed.
        payloads = await self._parts.gathering.gather(workplace, sight)
        await self._parts.workplaces.refresh(workplace, sight.typed)
        if sight.unread:
            payloads.append(_unread(sight))
        if workplace.left_out and not self._told_left_out:
            payloads.append(_left_out(workplace))
        self._told_left_out = True
        return payloads

    async def _begin_branch(self, label: str) -> list[AnyPayload]:
        arrangement = self._parts.arrangements.find(self._session)
        begun = None if arrangement is None else arrangement.slug
        slug = begun or await self._free_slug(label)
        if arrangement is not None and begun is None:
            self._parts.arrangements.keep(msgspec.structs.replace(arrangement, slug=slug))
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
        slug = slug_of(label) or self._session[-8:]
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
            return checkpoint_payload(await checkpoints.create(self._workspace, label, hurried=self._hurried))
        except NotWhole:
            # While the agent works nobody waits for it, and the next turn can have its checkpoint.
            self._going_on = asyncio.create_task(
                checkpoints.go_on(self._workspace), name=f"keeping the rest of {self._workspace}"
            )
            raise

    async def _stop_going_on(self) -> None:
        if self._going_on is not None:
            await put_down(self._going_on)
            self._going_on = None

    async def _keep_changed(self) -> list[AnyPayload]:
        """After a turn: nobody can go back to what nothing has changed."""
        label = short_label(f"After: {self._label}")
        checkpoint = await self._parts.checkpoints.create_if_changed(
            self._workspace, label, Moment.AFTER_TURN, hurried=self._hurried
        )
        return [] if checkpoint is None else [checkpoint_payload(checkpoint)]

    @property
    def _hurried(self) -> bool:
        """In direct mode a turn may go on without a checkpoint, so it is not held up for long."""
        return self.mode == "direct"


def checkpoint_payload(checkpoint: Checkpoint) -> CheckpointCreated:
    return CheckpointCreated(
        checkpoint_id=checkpoint.id,
        label=checkpoint.label,
        moment=checkpoint.moment.value,
        left_out=checkpoint.left_out_count,
    )


def short_label(text: str) -> str:
    """The first words of a prompt, in one line."""
    line = " ".join(text.split())
    if len(line) <= _LABEL_LETTERS:
        return line
    return line[:_LABEL_LETTERS].rsplit(" ", 1)[0].rstrip() + "…"


def slug_of(label: str) -> str:
    """The first words of a prompt as part of a branch's name; empty if it has none that fit."""
    words = re.findall(r"[a-z0-9]+", label.casefold())[:_SLUG_WORDS]
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:_SLUG_LETTERS]
        if len(longer) > _SLUG_LETTERS:
            break
        slug = longer
    return slug


def _unread(sight: Sight) -> Notice:
    paths = sorted(map(sight.shown, sight.unread))
    more = len(paths) - _NAMED
    return Notice(
        level="warning",
        text=f"The agent has {', '.join(paths[:_NAMED])}{f' and {more} more' if more > 0 else ''} "
        "without your unsaved changes, which your editor did not tell.",
        details="\n".join(sorted(set(sight.unread.values()))),
    )


def _left_out(workplace: Workplace) -> Notice:
    lines = [f"{each.path}: {each.reason}" for each in workplace.left_out]
    names = ", ".join(each.path for each in workplace.left_out[:_NAMED])
    more = len(lines) - _NAMED
    return Notice(
        level="info",
        text=f"The agent works in a copy that is not all as you have it: {names}"
        f"{f' and {more} more' if more > 0 else ''}.",
        details="\n".join(lines),
    )
