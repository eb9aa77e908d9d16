"""Ends the work of a session on its branch or in its worktree: brought home, kept beside, or put away."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload
from portico.review.arrangements import Arrangement, Homecoming
from portico.review.branches.branches import PREFIX, Ended, Ending
from portico.review.branches.finishing import Finishing
from portico.review.git.repositories import need_repository
from portico.review.proposals.proposals import Proposals
from portico.review.proposals.protection import Protection
from portico.review.proposals.selecting import FileChoice
from portico.review.proposals.store import Proposal
from portico.review.session_review import Parts
from portico.review.text.changes import ChangeSet, paths_of
from portico.review.workplaces.workplaces import Workplace
from portico.review.writing import Deed, Writing

_HOME = (Ending.MERGE, Ending.SQUASH)


class FinishOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work of a branch or worktree is now."""

    ended: Ended
    payloads: tuple[AnyPayload, ...] = ()


class Endings:
    """For all sessions. `scratch` is in the state folder."""

    def __init__(
        self,
        scratch: Path,
        environ: Mapping[str, str],
        parts: Parts,
        proposals: Proposals,
        writing: Writing,
        protect: Callable[[Path], Protection],
    ) -> None:
        self._scratch = scratch
        self._environ = environ
        self._parts = parts
        self._proposals = proposals
        self._writing = writing
        self._protect = protect

    async def finish_branch(
        self, arrangement: Arrangement, ending: Ending, message: str | None
    ) -> FinishOutcome:
        if arrangement.slug is None:
            raise InvalidInput(
                "The session has not begun its branch yet, so there is nothing to finish.",
                suggestion="Send it a prompt first, or delete the session.",
            )
        workspace = Path(arrangement.workspace)
        protection = await asyncio.to_thread(self._protect, workspace)
        ended = await self._parts.branches.finish(
            workspace, arrangement.slug, ending, message, run_filters=protection.run_filters
        )
        self._parts.arrangements.keep(msgspec.structs.replace(arrangement, slug=None))
        return FinishOutcome(ended=ended, payloads=ended.notices)

    async def finish_worktree(
        self, arrangement: Arrangement, ending: Ending, message: str | None
    ) -> FinishOutcome:
        """Commit what the person has not decided on yet, or set it aside; then take the worktree away."""
        workplace = await self._parts.workplaces.find(Path(arrangement.workspace), arrangement.session)
        if workplace is None:
            raise InvalidInput(
                "The session has no worktree, so there is nothing to finish.",
                suggestion="Send it a prompt, which makes one, or delete the session.",
            )
        payloads = await self._parts.gathering.gather(workplace)
        repository = await need_repository(workplace.workspace, self._environ)
        finishing = Finishing(repository, workplace.workspace, self._scratch)
        said = message or f"Work of the session {workplace.session}\n\nBy a session of Portico.\n"
        homecoming = await self._cut_short(arrangement)
        if homecoming is not None:
            if ending not in _HOME:
                raise _uncommitted(arrangement.session)
            await finishing.carry_on(homecoming, ending, said)
        proposal = await self._waiting(arrangement.session)
        changes = ChangeSet()
        if proposal is not None and (chosen := _allowed(proposal)):
            changes = await asyncio.to_thread(self._proposals.chosen, proposal.id, proposal.revision, chosen)
        protection = await asyncio.to_thread(self._protect, workplace.workspace)
        prepared = await finishing.prepare(changes, ending, said, run_filters=protection.run_filters)
        if ending in _HOME:
            if proposal is not None and changes.changes:
                await finishing.hold(workplace.session, prepared)
                going = Homecoming(proposal.id, proposal.revision, prepared.home, prepared.commit)
                self._parts.arrangements.keep(msgspec.structs.replace(arrangement, homecoming=going))
                payloads += await self._apply(workplace, proposal)
            ended = await finishing.stage(prepared, ending)
            await finishing.let_go(workplace.session)
            self._parts.arrangements.keep(msgspec.structs.replace(arrangement, homecoming=None))
        else:
            name = f"session-{workplace.session[-8:]}"
            discarded = f"refs/portico/discarded/{name}/{prepared.commit[:12]}"
            reference = f"refs/heads/{PREFIX}{name}" if ending is Ending.KEEP else discarded
            ended = await finishing.keep(prepared, reference, ending)
            if proposal is not None:
                await asyncio.to_thread(self._proposals.discard, proposal.id, proposal.revision)
                payloads.append(await asyncio.to_thread(self._proposals.payload, proposal.id))
        await self._parts.workplaces.close(workplace)
        return FinishOutcome(ended=ended, payloads=(*payloads, *ended.notices))

    async def _cut_short(self, arrangement: Arrangement) -> Homecoming | None:
        """An earlier end that got as far as the person's files, if they have not taken it back since."""
        going = arrangement.homecoming
        listed = await asyncio.to_thread(self._proposals.list, arrangement.session) if going else ()
        for one in listed:
            if going is not None and (one.id, one.revision) == (going.proposal, going.revision + 1):
                return going if one.status == "applied" else None
        return None

    async def _waiting(self, session: str) -> Proposal | None:
        listed = await asyncio.to_thread(self._proposals.list, session)
        return next((one for one in reversed(listed) if one.origin == "turn" and one.status == "open"), None)

    async def _apply(self, workplace: Workplace, proposal: Proposal) -> list[AnyPayload]:
        deed = Deed(
            session=workplace.session,
            workspace=workplace.workspace,
            paths=paths_of(proposal.changes),
            doing="bringing a worktree home",
            saved=True,
        )
        written = await self._writing.write(
            deed,
            lambda writer: self._proposals.apply(
                proposal.id, proposal.revision, _allowed(proposal), writer=writer
            ),
        )
        if conflicted := written.decided.conflicted:
            raise InvalidInput(
                f"You have changed the same lines of {', '.join(conflicted)}; nothing was changed.",
                suggestion="Apply the session's proposal and choose a side for these files, then finish again.",
            )
        return [*written.told, await asyncio.to_thread(self._proposals.payload, proposal.id)]


def _allowed(proposal: Proposal) -> tuple[FileChoice, ...]:
    return tuple(FileChoice(one.path) for one in proposal.changes.changes if one.path not in proposal.denied)


def _uncommitted(session: str) -> InvalidInput:
    return InvalidInput(
        "An earlier end was cut short: the session's changes are in your files, uncommitted.",
        suggestion="Finish with merge or squash, which commits them; or take them out of your files first: "
        f"portico review undo --session {session}",
    )
