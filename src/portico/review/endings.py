"""Ends the work of a session on its branch or in its worktree: brought home, kept beside, or put away."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload
from portico.review.arrangements import Arrangement
from portico.review.branches.branches import PREFIX, Ended, Ending
from portico.review.branches.finishing import Finishing
from portico.review.git.repositories import need_repository
from portico.review.proposals.proposals import Proposals
from portico.review.proposals.selecting import FileChoice
from portico.review.proposals.store import Proposal
from portico.review.session_review import Parts
from portico.review.text.changes import ChangeSet, paths_of
from portico.review.workplaces.workplaces import Workplace
from portico.review.writing import Deed, Writing


class FinishOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work of a branch or worktree is now."""

    ended: Ended
    payloads: tuple[AnyPayload, ...] = ()


class Endings:
    """For all sessions. `scratch` is in the state folder."""

    def __init__(
        self, scratch: Path, environ: Mapping[str, str], parts: Parts, proposals: Proposals, writing: Writing
    ) -> None:
        self._scratch = scratch
        self._environ = environ
        self._parts = parts
        self._proposals = proposals
        self._writing = writing

    async def finish_branch(
        self, arrangement: Arrangement, ending: Ending, message: str | None
    ) -> FinishOutcome:
        if arrangement.slug is None:
            raise InvalidInput(
                "The session has not begun its branch yet, so there is nothing to finish.",
                suggestion="Send it a prompt first, or delete the session.",
            )
        workspace = Path(arrangement.workspace)
        ended = await self._parts.branches.finish(workspace, arrangement.slug, ending, message)
        self._parts.arrangements.keep(msgspec.structs.replace(arrangement, slug=None))
        return FinishOutcome(ended=ended)

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
        proposal = await self._waiting(arrangement.session)
        changes = ChangeSet()
        if proposal is not None and (chosen := _allowed(proposal)):
            changes = await asyncio.to_thread(self._proposals.chosen, proposal.id, proposal.revision, chosen)
        repository = await need_repository(workplace.workspace, self._environ)
        finishing = Finishing(repository, workplace.workspace, self._scratch)
        said = message or f"Work of the session {workplace.session}\n\nBy a session of Portico.\n"
        prepared = await finishing.prepare(changes, ending, said)
        if ending in (Ending.MERGE, Ending.SQUASH):
            if proposal is not None and changes.changes:
                payloads += await self._apply(workplace, proposal)
            ended = await finishing.stage(prepared, ending)
        else:
            name = f"session-{workplace.session[-8:]}"
            discarded = f"refs/portico/discarded/{name}/{prepared.commit[:12]}"
            reference = f"refs/heads/{PREFIX}{name}" if ending is Ending.KEEP else discarded
            ended = await finishing.keep(prepared, reference, ending)
            if proposal is not None:
                await asyncio.to_thread(self._proposals.discard, proposal.id, proposal.revision)
                payloads.append(await asyncio.to_thread(self._proposals.payload, proposal.id))
        await self._parts.workplaces.close(workplace)
        return FinishOutcome(ended=ended, payloads=tuple(payloads))

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
