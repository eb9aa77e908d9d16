"""AgentService methods for prompt files: listing, showing and running them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.domain.catalog import PromptBlank, PromptEntry
from portico.domain.errors import PorticoError
from portico.domain.events import Event
from portico.doors.api.event_messages import to_event
from portico.doors.api.review_calls import ReviewCalls
from portico.doors.api.session_calls import Context
from portico.doors.api.streams import merge_streams
from portico.files.deadline import within_deadline
from portico.files.workspace import is_folder, resolve_workspace
from portico.sessions.log.watch import ends_turn


class PromptCalls(ReviewCalls):
    _listed: tuple[Sequence[PromptEntry], pb.ListPromptsResponse] | None = None
    """The last list and its message: with thousands of prompts, making it takes longer than looking for changes."""

    async def list_prompts(self, request: pb.ListPromptsRequest, _: Context, /) -> pb.ListPromptsResponse:
        found = await self._catalog.prompts(await self._folder(request.workspace))
        if self._listed is None or self._listed[0] is not found:
            self._listed = (found, pb.ListPromptsResponse(prompts=[_kept_prompt(one) for one in found]))
        return self._listed[1]

    async def get_prompt(self, request: pb.GetPromptRequest, _: Context, /) -> pb.GetPromptResponse:
        pieces = await self._catalog.prompt(await self._folder(request.workspace), request.name)
        return pb.GetPromptResponse(pieces=[_piece(one) for one in pieces])

    async def run_prompt(
        self, request: pb.RunPromptRequest, _: Context, /
    ) -> AsyncIterator[pb.RunPromptResponse]:
        workspace = await self._folder(request.workspace)
        await within_deadline(lambda: resolve_workspace(workspace))  # before its settings are read
        plan = await self._catalog.prepare_run(workspace, request)
        plan.prompt.require_content()
        session_id = await self._service.start(
            workspace, plan.spec, mode=plan.mode, reads_only=plan.reads_only
        )
        await self.switch_chosen(session_id)
        last: Event | None = None
        try:
            turn = self.turn_queue.send(session_id, plan.prompt)
            async with aclosing(merge_streams(turn, closing=self._closing)) as events:
                async for event in events:
                    if isinstance(event, Event):
                        last = event
                        plan.take(event)
                        yield pb.RunPromptResponse(update=one_of("event", to_event(event)))
        except PorticoError:
            if last is None:
                await self.turn_queue.delete(session_id)
            raise
        if last is not None and ends_turn(last):
            result = await plan.finish(session_id)
            if plan.has_own_limits:
                # A later turn of this session gets an agent with the usual limits.
                await self.turn_queue.release(session_id)
            yield pb.RunPromptResponse(update=one_of("result", result))

    async def save_session_variables(
        self, request: pb.SaveSessionVariablesRequest, _: Context, /
    ) -> pb.SaveSessionVariablesResponse:
        folder = await self._folder(request.workspace)
        path = await self._catalog.save_variables(folder, dict(request.values))
        return pb.SaveSessionVariablesResponse(path=str(path))

    async def _folder(self, workspace: str) -> Path:
        """The folder of a request, or the server's. It may be gone. Raises InvalidInput for an invalid path."""
        folder = Path(workspace) if workspace else self._catalog.workspace
        await within_deadline(lambda: is_folder(folder))
        return folder


def _piece(piece: str | PromptBlank) -> pb.PromptPiece:
    if isinstance(piece, str):
        return pb.PromptPiece(piece=one_of("text", piece))
    blank = pb.PromptBlank(name=piece.name, description=piece.description)
    return pb.PromptPiece(piece=one_of("blank", blank))


def _kept_prompt(prompt: PromptEntry) -> pb.KeptPrompt:
    return pb.KeptPrompt(
        name=prompt.name,
        description=prompt.description,
        origin=pb.PromptOrigin[prompt.origin.upper().replace("-", "_")],
        problem=prompt.problem,
        tags=list(prompt.tags),
        version=prompt.version,
        variables=[
            pb.PromptVariable(
                name=one.name,
                description=one.description,
                default_value=one.default,
                session_value=one.session,
            )
            for one in prompt.variables
        ],
        model=prompt.model,
        mode=prompt.mode,
        output=prompt.output,
        budget=prompt.budget,
        fingerprint=prompt.fingerprint,
        path=prompt.path,
        warnings=list(prompt.warnings),
    )
