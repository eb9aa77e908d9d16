"""AgentService methods for sessions and turns; they translate and delegate."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext
from msgspec import Raw

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.api.v1.agent_service import AgentService
from portico.domain.components import AS_IN_SETTINGS, SessionComponents
from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import ConfigUpdated, Event, PromptSubmitted, TextDelta, TodosUpdated
from portico.domain.ids import SessionId
from portico.doors.api.catalog import Catalog
from portico.doors.api.event_messages import to_event, to_options, to_todos
from portico.doors.api.review_messages import read_review_mode, to_proposal
from portico.doors.api.search_messages import read_query, to_search_page
from portico.doors.api.session_messages import (
    page_size,
    read_attachment,
    read_decision,
    read_reply,
    read_todos,
    require_session_id,
    to_components,
    to_detail,
    to_drafts,
    to_queued,
    to_summary,
)
from portico.doors.api.streams import merge_streams
from portico.doors.api.window_calls import WindowCalls
from portico.files.deadline import within_deadline
from portico.files.workspace import resolve_workspace
from portico.sessions.cleanup import SessionCleanup
from portico.sessions.content.attachments import read_attachments
from portico.sessions.content.mentions import links_in
from portico.sessions.drafts import Drafts
from portico.sessions.log.export import export_json, export_markdown
from portico.sessions.log.timeline_page import read_timeline_page
from portico.sessions.ports import Ports
from portico.sessions.review_actions import ReviewActions
from portico.sessions.service import SessionService
from portico.sessions.session_list import RemovedSession, SessionList
from portico.sessions.turn import TurnPrompt
from portico.sessions.turn_queue import TurnQueue
from portico.sessions.windows import WindowRegistry

TIMELINE_PAGE = 200
LIST_PAGE = 50
PREVIEW_EVENTS = 200

Context = RequestContext[Any, Any]


class SessionCalls(AgentService):
    def __init__(
        self,
        service: SessionService,
        ports: Ports,
        reviews: ReviewActions,
        catalog: Catalog,
        closing: asyncio.Event,
        windows: WindowRegistry | None = None,
    ) -> None:
        self.drafts = Drafts(ports.store, ports.clock)
        self.turn_queue = TurnQueue(service, self.drafts, catalog.agent_of)
        self.cleanup = SessionCleanup(service, self.turn_queue, self.drafts, ports.store, ports.clock)
        self._service = service
        self._ports = ports
        self._store = ports.store
        self._reviews = reviews
        self._list = SessionList(service, ports.store, ports.clock)
        self._catalog = catalog
        self._closing = closing
        self._editors = WindowCalls(windows, closing)

    async def start_session(self, request: pb.StartSessionRequest, _: Context, /) -> pb.StartSessionResponse:
        workspace = Path(request.workspace) if request.workspace else self._catalog.workspace
        await within_deadline(lambda: resolve_workspace(workspace))  # before its settings are read
        spec = await self._catalog.agent(request.agent, workspace)
        mode = read_review_mode(request.mode) or await self._catalog.mode(workspace)
        started = await self._service.start(workspace, spec, mode=mode, reads_only=request.reads_only)
        await self.switch_chosen(started)
        self.turn_queue.start_agent_ahead(started)
        return pb.StartSessionResponse(session=await self._detail(started))

    async def switch_chosen(self, session_id: SessionId) -> None:
        """Switch the components of a new session as its window chooses."""
        chosen = self._catalog.chosen_components()
        if chosen == AS_IN_SETTINGS:
            return
        try:
            await self._service.session(session_id).switch_components(chosen)
        except PorticoError:
            await self.turn_queue.delete(session_id)
            raise

    async def list_sessions(self, request: pb.ListSessionsRequest, _: Context, /) -> pb.ListSessionsResponse:
        size = page_size(request.limit, LIST_PAGE)
        found = await self._list.page(
            workspace=request.workspace or None,
            search=request.search,
            before=SessionId(request.after_session_id) if request.after_session_id else None,
            limit=size + 1,
        )
        return pb.ListSessionsResponse(
            sessions=[to_summary(one) for one in found[:size]], more=len(found) > size
        )

    async def search_sessions(
        self, request: pb.SearchSessionsRequest, _: Context, /
    ) -> pb.SearchSessionsResponse:
        return to_search_page(*await self._list.search(read_query(request)))

    async def watch_sessions(
        self, request: pb.WatchSessionsRequest, _: Context, /
    ) -> AsyncIterator[pb.WatchSessionsResponse]:
        changes = self._list.watch(workspace=request.workspace or None)
        async with aclosing(merge_streams(changes, closing=self._closing)) as stream:
            async for change in stream:
                if change is None:
                    yield pb.WatchSessionsResponse(change=one_of("heartbeat", pb.Heartbeat()))
                elif isinstance(change, RemovedSession):
                    yield pb.WatchSessionsResponse(change=one_of("removed_session_id", change.session_id))
                else:
                    yield pb.WatchSessionsResponse(change=one_of("changed", to_summary(change)))

    async def get_session(self, request: pb.GetSessionRequest, _: Context, /) -> pb.GetSessionResponse:
        return pb.GetSessionResponse(session=await self._detail(require_session_id(request.session_id)))

    async def get_timeline(self, request: pb.GetTimelineRequest, _: Context, /) -> pb.GetTimelineResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        size = page_size(request.limit, TIMELINE_PAGE)
        events = await read_timeline_page(
            self._store, name, before_seq=request.before_seq or None, limit=size
        )
        return pb.GetTimelineResponse(
            events=[to_event(event) for event in events], more=bool(events) and events[0].seq > 1
        )

    async def resume_session(
        self, request: pb.ResumeSessionRequest, _: Context, /
    ) -> pb.ResumeSessionResponse:
        name = require_session_id(request.session_id)
        await self.turn_queue.resume(name)
        return pb.ResumeSessionResponse(session=await self._detail(name))

    async def discard_turn(self, request: pb.DiscardTurnRequest, _: Context, /) -> pb.DiscardTurnResponse:
        name = require_session_id(request.session_id)
        await (await self.turn_queue.open(name)).discard()
        return pb.DiscardTurnResponse()

    async def fork_session(self, request: pb.ForkSessionRequest, _: Context, /) -> pb.ForkSessionResponse:
        forked = await self._service.fork(require_session_id(request.session_id))
        self.turn_queue.start_agent_ahead(forked)
        return pb.ForkSessionResponse(session=await self._detail(forked))

    async def hand_off_session(
        self, request: pb.HandOffSessionRequest, _: Context, /
    ) -> pb.HandOffSessionResponse:
        source = await self._service.show(require_session_id(request.session_id))
        spec = await self._catalog.agent(request.agent, Path(source.workspace))
        mode = read_review_mode(request.mode)
        continuation = await self._service.hand_off(source.session_id, spec, mode=mode)
        self.turn_queue.start_agent_ahead(continuation)
        return pb.HandOffSessionResponse(session=await self._detail(continuation))

    async def update_session(
        self, request: pb.UpdateSessionRequest, _: Context, /
    ) -> pb.UpdateSessionResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        if request.has_field("title"):
            await (await self.turn_queue.open(name)).rename(request.title)
        if request.has_field("pinned"):
            await self.drafts.pin(name, pinned=request.pinned)
        return pb.UpdateSessionResponse(session=await self._detail(name))

    async def clear_session(self, request: pb.ClearSessionRequest, _: Context, /) -> pb.ClearSessionResponse:
        name = require_session_id(request.session_id)
        await self.turn_queue.delete(name, discard_proposals=request.discard_proposals)
        return pb.ClearSessionResponse()

    async def export_session(
        self, request: pb.ExportSessionRequest, _: Context, /
    ) -> pb.ExportSessionResponse:
        summary = await self._service.show(require_session_id(request.session_id))
        as_json = request.format is pb.ExportFormat.JSON
        export = export_json if as_json else export_markdown
        content = "".join([part async for part in export(self._store, summary)])
        return pb.ExportSessionResponse(
            file_name=f"{summary.session_id}.{'json' if as_json else 'md'}", content=content
        )

    async def get_conversation_preview(
        self, request: pb.GetConversationPreviewRequest, _: Context, /
    ) -> pb.GetConversationPreviewResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        prompt, answer = "", ""
        for event in await self._store.tail(name, before_seq=None, limit=PREVIEW_EVENTS):
            match event.payload:
                case PromptSubmitted(text=text):
                    prompt, answer = text, ""
                case TextDelta(text=text):
                    answer += text
                case _:
                    pass
        return pb.GetConversationPreviewResponse(last_prompt=prompt, last_answer=answer)

    async def invoke(self, request: pb.InvokeRequest, _: Context, /) -> AsyncIterator[pb.InvokeResponse]:
        async with aclosing(self._send(request)) as updates:
            async for update in updates:
                if isinstance(update, QueuedPrompt):
                    yield pb.InvokeResponse(update=one_of("queued", to_queued(update)))
                else:
                    yield pb.InvokeResponse(update=one_of("event", to_event(update)))

    async def submit_prompt(self, request: pb.SubmitPromptRequest, _: Context, /) -> pb.SubmitPromptResponse:
        async with aclosing(self._send(request)) as updates:
            async for update in updates:
                if isinstance(update, QueuedPrompt):
                    return pb.SubmitPromptResponse(outcome=one_of("queued", to_queued(update)))
                return pb.SubmitPromptResponse(outcome=one_of("event", to_event(update)))
        # Without details, as from a server that is gone: the prompt may have been accepted.
        raise ConnectError(Code.UNAVAILABLE, "The server is stopping.")

    async def stop_turn(self, request: pb.StopTurnRequest, _: Context, /) -> pb.StopTurnResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        session = self._service.find_session(name)
        return pb.StopTurnResponse(stopped=session is not None and session.stop(force=request.force))

    async def stop_command(self, request: pb.StopCommandRequest, _: Context, /) -> pb.StopCommandResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        session = self._service.find_session(name)
        if session is None or not session.is_busy:
            return pb.StopCommandResponse(stopped=False)
        return pb.StopCommandResponse(stopped=await session.stop_command(request.terminal_id))

    async def stop_tool(self, request: pb.StopToolRequest, _: Context, /) -> pb.StopToolResponse:
        name = require_session_id(request.session_id)
        await self._service.show(name)
        session = self._service.find_session(name)
        return pb.StopToolResponse(stopped=session is not None and session.stop_tool(request.tool_id))

    async def watch(self, request: pb.WatchRequest, _: Context, /) -> AsyncIterator[pb.WatchResponse]:
        name = require_session_id(request.session_id)
        last_seq = request.after_seq
        events: AsyncGenerator[Event | SessionDraft] = self._service.watch(name, after_seq=last_seq)
        news = merge_streams(events, self.drafts.watch(name), closing=self._closing)
        with self.cleanup.watching(name):
            async with aclosing(news) as stream:
                async for one in stream:
                    if one is None:
                        heartbeat = pb.Heartbeat(last_seq=last_seq)
                        yield pb.WatchResponse(update=one_of("heartbeat", heartbeat))
                    elif isinstance(one, SessionDraft):
                        yield pb.WatchResponse(update=one_of("desk", to_drafts(one)))
                    else:
                        last_seq = one.seq
                        yield pb.WatchResponse(update=one_of("event", to_event(one)))

    async def submit_client_event(
        self, request: pb.SubmitClientEventRequest, _: Context, /
    ) -> pb.SubmitClientEventResponse:
        said: Any = request.event
        if said is not None and said.field in (
            "editor_reply",
            "editor_state",
            "editor_tools",
            "editor_problems",
        ):
            self._editors.take(said.value)
            return pb.SubmitClientEventResponse()
        name = require_session_id(request.session_id)
        await self._service.show(name)
        match said and said.field:
            case "permission_decisions":
                await self._decide(name, said.value.decisions)
            case "question_reply":
                session = self._service.session(name)
                session.answer(said.value.request_id, read_reply(said.value))
                await session.save_answers()
            case "draft":
                await self.drafts.write_draft(name, said.value.text, said.value.client_id)
            case "queue_removal":
                await self.turn_queue.remove(name, said.value.prompt_id)
            case "queue_change":
                await self._change_queued(name, said.value)
            case _:
                raise InvalidInput("event is required.", suggestion="Set one of its fields.")
        return pb.SubmitClientEventResponse()

    async def set_session_config(
        self, request: pb.SetSessionConfigRequest, _: Context, /
    ) -> pb.SetSessionConfigResponse:
        name = require_session_id(request.session_id)
        if request.value is None:
            raise InvalidInput("value is required.", suggestion="Set choice or switched_on.")
        session = await self.turn_queue.open(name)
        await session.set_option(request.option_id, request.value.value)
        view = await self._service.view(name)
        options = [one for one in view.standing if isinstance(one, ConfigUpdated)]
        return pb.SetSessionConfigResponse(options=to_options(options[0].options) if options else [])

    async def list_components(
        self, request: pb.ListComponentsRequest, _: Context, /
    ) -> pb.ListComponentsResponse:
        found = await self._service.components(require_session_id(request.session_id))
        return pb.ListComponentsResponse(components=to_components(found))

    async def switch_components(
        self, request: pb.SwitchComponentsRequest, _: Context, /
    ) -> pb.SwitchComponentsResponse:
        name = require_session_id(request.session_id)
        change = SessionComponents(on=tuple(request.on), off=tuple(request.off))
        await (await self.turn_queue.open(name)).switch_components(change)
        return pb.SwitchComponentsResponse(components=to_components(await self._service.components(name)))

    async def call_extension(
        self, request: pb.CallExtensionRequest, _: Context, /
    ) -> pb.CallExtensionResponse:
        session = await self.turn_queue.open(require_session_id(request.session_id))
        params = Raw(request.params_json.encode() or b"{}")
        if request.notification:
            await session.notify_extension(request.method, params)
            return pb.CallExtensionResponse()
        result = await session.call_extension(request.method, params)
        return pb.CallExtensionResponse(result_json=bytes(result).decode())

    async def get_todos(self, request: pb.GetTodosRequest, _: Context, /) -> pb.GetTodosResponse:
        view = await self._service.view(require_session_id(request.session_id))
        lists = [one for one in view.standing if isinstance(one, TodosUpdated)]
        return pb.GetTodosResponse(todos=to_todos(lists[0].todos) if lists else [])

    async def write_todos(self, request: pb.WriteTodosRequest, _: Context, /) -> pb.WriteTodosResponse:
        name = require_session_id(request.session_id)
        session = await self.turn_queue.open(name)
        written = read_todos(request.todos)
        await session.write_todos(written)
        return pb.WriteTodosResponse(todos=to_todos(written))

    async def _decide(self, name: SessionId, decisions: Sequence[pb.PermissionDecision]) -> None:
        """Submit all decisions, even if a request was already answered elsewhere; that is raised afterwards."""
        session = self._service.session(name)
        refused: InvalidInput | None = None
        for one in decisions:
            try:
                session.decide(one.request_id, read_decision(one))
            except InvalidInput as error:
                refused = refused or error
        await session.save_answers()
        if refused is not None:
            raise refused

    async def _change_queued(self, name: SessionId, change: pb.QueueChange) -> None:
        text = change.text if change.has_field("text") else None
        place = change.place if change.has_field("place") else None
        await self.drafts.change_queued(name, change.prompt_id, text=text, place=place)

    async def _detail(self, name: SessionId) -> pb.SessionDetail:
        detail = to_detail(await self._service.view(name), await self.drafts.get(name))
        detail.proposals = [to_proposal(one) for one in await self._reviews.proposals(name)]
        return detail

    async def _send(
        self, request: pb.InvokeRequest | pb.SubmitPromptRequest
    ) -> AsyncGenerator[Event | QueuedPrompt]:
        """Send a prompt and yield its events, first the queued prompt if it has to wait. Ends with the server."""
        name = require_session_id(request.session_id)
        if request.queued_prompt_id:
            updates = self.turn_queue.send_queued(name, request.queued_prompt_id)
        else:
            queue = request.when_busy is pb.WhenBusy.QUEUE
            updates = self.turn_queue.send(name, await self._prompt(name, request), queue=queue)
        async with aclosing(merge_streams(updates, closing=self._closing)) as stream:
            async for update in stream:
                if update is not None:
                    yield update

    async def _prompt(
        self, name: SessionId, request: pb.InvokeRequest | pb.SubmitPromptRequest
    ) -> TurnPrompt:
        workspace = Path((await self._service.show(name)).workspace)
        blocks = await read_attachments([read_attachment(one, workspace) for one in request.attachments])
        links = await asyncio.to_thread(links_in, request.text, workspace)
        return TurnPrompt(text=request.text, blocks=(*blocks, *links))
