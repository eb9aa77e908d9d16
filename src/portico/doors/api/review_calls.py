"""AgentService methods for proposals, checkpoints and review modes; they translate and delegate."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar, cast

from portico.api.v1 import agent_pb as pb
from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import PromptSubmitted
from portico.domain.ids import SessionId
from portico.doors.api.review_messages import (
    read_proposal_choice,
    read_review_ending,
    read_review_mode,
    require_checkpoint_id,
    require_proposal_id,
    to_checkpoint,
    to_contents,
    to_proposal,
    to_proposed_files,
    to_restored,
    to_status,
)
from portico.doors.api.session_calls import Context, SessionCalls
from portico.doors.api.session_messages import require_session_id
from portico.doors.api.tool_messages import to_file_problems
from portico.sessions.content.mentions import replace_links
from portico.sessions.proposal_problems import compare_problems
from portico.sessions.turn import TurnPrompt

_Result = TypeVar("_Result")


class ReviewCalls(SessionCalls):
    """A decision that has started is completed even if the client disconnects."""

    async def get_proposal(self, request: pb.GetProposalRequest, _: Context, /) -> pb.GetProposalResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        if not request.proposal_id:
            return pb.GetProposalResponse(
                proposals=[to_proposal(one) for one in await self._reviews.proposals(name)]
            )
        found = await self._reviews.proposal(name, request.proposal_id)
        contents = await self._reviews.contents(name, request.proposal_id, request.paths)
        return pb.GetProposalResponse(
            proposals=[to_proposal(found)], contents=[to_contents(one) for one in contents]
        )

    async def get_proposal_problems(
        self, request: pb.GetProposalProblemsRequest, _: Context, /
    ) -> pb.GetProposalProblemsResponse:
        summary = await self._service.show(require_session_id(request.session_id))
        proposal_id = require_proposal_id(request.proposal_id)
        found = await compare_problems(summary, proposal_id, self._reviews, self._ports)
        return pb.GetProposalProblemsResponse(
            revision=found.revision, files=[to_file_problems(one) for one in found.files], note=found.note
        )

    async def apply_proposal(
        self, request: pb.ApplyProposalRequest, _: Context, /
    ) -> pb.ApplyProposalResponse:
        name = require_session_id(request.session_id)
        choice = read_proposal_choice(request.proposal_id, request.revision, request.files)
        applied = await self._decided(self._reviews.apply(name, choice), name)
        return pb.ApplyProposalResponse(
            proposal=to_proposal(applied.proposal),
            applied=not applied.conflicted,
            merged=list(applied.merged),
        )

    async def discard_proposal(
        self, request: pb.DiscardProposalRequest, _: Context, /
    ) -> pb.DiscardProposalResponse:
        name = require_session_id(request.session_id)
        choice = read_proposal_choice(request.proposal_id, request.revision, request.files)
        proposal = await self._decided(self._reviews.discard(name, choice), name)
        return pb.DiscardProposalResponse(proposal=to_proposal(proposal))

    async def undo_apply(self, request: pb.UndoApplyRequest, _: Context, /) -> pb.UndoApplyResponse:
        name = require_session_id(request.session_id)
        undone = await self._decided(self._reviews.undo(name, require_proposal_id(request.proposal_id)), name)
        return pb.UndoApplyResponse(
            proposal=to_proposal(undone.proposal), undone=undone.undone, already=undone.already
        )

    async def get_revision_prompt(
        self, request: pb.GetRevisionPromptRequest, _: Context, /
    ) -> pb.GetRevisionPromptResponse:
        name = require_session_id(request.session_id)
        choice = read_proposal_choice(request.proposal_id, request.revision, request.files)
        return pb.GetRevisionPromptResponse(
            text=await self._reviews.revision_prompt(name, choice, request.comment)
        )

    async def list_checkpoints(
        self, request: pb.ListCheckpointsRequest, _: Context, /
    ) -> pb.ListCheckpointsResponse:
        found = await self._reviews.checkpoints(require_session_id(request.session_id))
        titles = {name: await self._title(name) for name in {one.session_id for one in found}}
        return pb.ListCheckpointsResponse(
            checkpoints=[to_checkpoint(one, titles[one.session_id]) for one in found]
        )

    async def _title(self, session_id: str) -> str:
        """Title of a session; empty if there is no such session any more."""
        summary = await self._store.summary(SessionId(session_id))
        return "" if summary is None else summary.title

    async def get_checkpoint_diff(
        self, request: pb.GetCheckpointDiffRequest, _: Context, /
    ) -> pb.GetCheckpointDiffResponse:
        name = require_session_id(request.session_id)
        changed = await self._reviews.checkpoint_diff(
            name, require_checkpoint_id(request.checkpoint_id), request.other_checkpoint_id or None
        )
        return pb.GetCheckpointDiffResponse(files=to_proposed_files(changed.files), unlisted=changed.unlisted)

    async def restore_checkpoint(
        self, request: pb.RestoreCheckpointRequest, _: Context, /
    ) -> pb.RestoreCheckpointResponse:
        name = require_session_id(request.session_id)
        wanted = require_checkpoint_id(request.checkpoint_id)
        done = await self._decided(self._reviews.restore(name, wanted), name)
        return pb.RestoreCheckpointResponse(
            restored=to_restored(done.restored),
            proposal=None if done.proposal is None else to_proposal(done.proposal),
        )

    async def edit_prompt(self, request: pb.EditPromptRequest, _: Context, /) -> pb.EditPromptResponse:
        edited = await self.turn_queue.run_to_completion(
            self._edit_prompt(request), name=f"editing a prompt of {request.session_id}"
        )
        return pb.EditPromptResponse(session=await self._detail(edited))

    async def _edit_prompt(self, request: pb.EditPromptRequest) -> SessionId:
        name = require_session_id(request.session_id)
        summary = await self._service.show(name)
        if request.checkpoint_id and summary.state.active:
            raise SessionBusy.in_turn(name)
        branch = await self._service.branch(name, request.seq)
        try:
            await self.turn_queue.open(branch)
            (event,) = await self._store.read(name, after_seq=request.seq - 1, limit=1)
            before = cast(PromptSubmitted, event.payload)
            folder = Path(summary.workspace)
            blocks = await asyncio.to_thread(replace_links, before.blocks, before.text, request.text, folder)
            prompt = TurnPrompt(text=request.text, blocks=blocks)
            prompt.require_content()
            if request.checkpoint_id:
                await self._reviews.restore(name, request.checkpoint_id)
            async with aclosing(self.turn_queue.send(branch, prompt, queue=True)) as updates:
                await anext(updates)
        except BaseException:
            await self.turn_queue.delete(branch)
            raise
        return branch

    async def list_branches(self, request: pb.ListBranchesRequest, _: Context, /) -> pb.ListBranchesResponse:
        found = await self._service.branches(require_session_id(request.session_id))
        return pb.ListBranchesResponse(
            points=[
                pb.BranchPoint(
                    versions=[
                        pb.PromptVersion(session_id=each.session_id, seq=each.seq) for each in one.versions
                    ],
                    current=one.current,
                )
                for one in found
            ]
        )

    async def get_review_status(
        self, request: pb.GetReviewStatusRequest, _: Context, /
    ) -> pb.GetReviewStatusResponse:
        summary = await self._service.show(require_session_id(request.session_id))
        in_settings = await self._catalog.has_mode(Path(summary.workspace))
        return to_status(await self._reviews.status(summary.session_id), in_settings=in_settings)

    async def initialize_repository(
        self, request: pb.InitializeRepositoryRequest, _: Context, /
    ) -> pb.InitializeRepositoryResponse:
        name = require_session_id(request.session_id)
        await self._decided(self._reviews.initialize_repository(name), name)
        return pb.InitializeRepositoryResponse()

    async def set_review_mode(
        self, request: pb.SetReviewModeRequest, _: Context, /
    ) -> pb.SetReviewModeResponse:
        name, mode = require_session_id(request.session_id), read_review_mode(request.mode)
        if mode is None:
            raise InvalidInput(
                "mode is required.", suggestion="Set it to direct, proposal, branch or worktree."
            )
        await (await self.turn_queue.open(name)).set_mode(mode)
        return pb.SetReviewModeResponse(session=await self._detail(name))

    async def finish_review(self, request: pb.FinishReviewRequest, _: Context, /) -> pb.FinishReviewResponse:
        name, ending = require_session_id(request.session_id), read_review_ending(request.ending)
        # The agent must not stay in a folder that may be removed; it starts again with the next prompt.
        await self.turn_queue.release(name)
        done = await self._decided(self._reviews.finish(name, ending, request.message or None), name)
        return pb.FinishReviewResponse(commit=done.commit, reference=done.reference, notes=list(done.notes))

    async def _decided(self, work: Coroutine[Any, Any, _Result], name: SessionId) -> _Result:
        return await self.turn_queue.run_to_completion(work, name=f"deciding on changes of {name}")
