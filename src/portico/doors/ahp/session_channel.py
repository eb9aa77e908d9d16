"""A session that clients of the protocol are subscribed to: it follows the log and takes their actions, in order."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from portico.domain.drafts import QueuedPrompt
from portico.domain.errors import PorticoError, SessionNotFound
from portico.domain.events import (
    AnyPayload,
    Event,
    PermissionResolved,
    PromptSubmitted,
    QuestionAnswered,
    TitleUpdated,
    TurnEnded,
)
from portico.domain.ids import SessionId
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.action_log import ActionLog
from portico.doors.ahp.host_parts import HostParts
from portico.doors.ahp.messages import read_prompt
from portico.doors.ahp.questions import read_answer
from portico.doors.ahp.session_projection import SessionProjection
from portico.doors.ahp.uris import changeset_of
from portico.processes.tasks import cancel_and_wait
from portico.sessions.requests.permissions import PermissionReply

log = logging.getLogger("portico.ahp")

MOST_WAITING = 1000
_PAGE = 500
_ECHOED = (
    ahp.ChatTurnStartedAction,
    ahp.ChatToolCallConfirmedAction,
    ahp.ChatInputCompletedAction,
    ahp.ChatTurnCancelledAction,
    ahp.SessionTitleChangedAction,
)


class _ExpectedTurn(msgspec.Struct, frozen=True):
    """A turn that a client has started: the name it gave to the turn or to the queued message."""

    text: str
    origin: ahp.ActionOrigin | None
    turn_id: str | None = None
    queued: str | None = None


class _Dispatched(msgspec.Struct, frozen=True):
    channel: str
    action: ahp.StateAction
    origin: ahp.ActionOrigin


class ActionRejected(Exception):
    """An action of a client that cannot be taken, with the reason."""


class SessionChannel:
    """Constructing it starts nothing; `open` returns when the state is that of the log."""

    def __init__(
        self, session_id: SessionId, state: SessionProjection, parts: HostParts, actions: ActionLog
    ) -> None:
        self.session_id = session_id
        self.state = state
        self.since = actions.newest
        """No action of this session was missed after this number."""
        self.ended = asyncio.Event()
        self._parts = parts
        self._actions = actions
        self._expected: deque[_ExpectedTurn] = deque()
        self._origins: dict[str, ahp.ActionOrigin] = {}
        """Clients whose answer, stop or title the log will confirm."""
        self._queueing = asyncio.Lock()
        self._waiting: asyncio.Queue[_Dispatched] = asyncio.Queue(MOST_WAITING)
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Read the log up to its end, then follow it. SessionNotFound if there is no such session."""
        seq = 0
        while page := await self._parts.store.read(self.session_id, after_seq=seq, limit=_PAGE):
            for event in page:
                self.state.take(event)
            seq = page[-1].seq
        if seq == 0:
            raise SessionNotFound(f"Session {self.session_id} does not exist.")
        self.state.take_draft(await self._parts.drafts.get(self.session_id))
        self.since = self._actions.newest
        for work, title in (
            (self._follow(seq), "log"),
            (self._follow_draft(), "draft"),
            (self._work(), "actions"),
        ):
            self._tasks.append(
                asyncio.create_task(work, name=f"{title} of {self.session_id} for agent host clients")
            )

    async def close(self) -> None:
        self.ended.set()
        await cancel_and_wait(*self._tasks)

    def dispatch(self, channel: str, action: ahp.StateAction, origin: ahp.ActionOrigin) -> None:
        """Take an action of a client in its turn; it is rejected when too many wait."""
        try:
            self._waiting.put_nowait(_Dispatched(channel, action, origin))
        except asyncio.QueueFull:
            self._reject(_Dispatched(channel, action, origin), "Too many actions are waiting.")

    async def _follow(self, seq: int) -> None:
        with self._parts.cleanup.watching(self.session_id):
            async with aclosing(self._parts.service.watch(self.session_id, after_seq=seq)) as events:
                async for event in events:
                    self._take(event)
        self.ended.set()

    async def _follow_draft(self) -> None:
        async with aclosing(self._parts.drafts.watch(self.session_id)) as drafts:
            async for draft in drafts:
                async with self._queueing:
                    for channel, action in self.state.take_draft(draft):
                        self._actions.append(channel, action)

    def _take(self, event: Event) -> None:
        expected = self._expected_turn(event.payload)
        if expected is None:
            origin, changes = self._origin(event.payload), self.state.take(event)
        else:
            origin = expected.origin
            changes = self.state.take(event, expected.turn_id, expected.queued)
        for channel, action in changes:
            self._actions.append(channel, action, origin=origin if isinstance(action, _ECHOED) else None)

    def _expected_turn(self, payload: AnyPayload) -> _ExpectedTurn | None:
        if isinstance(payload, PromptSubmitted) and payload.prompt_id is None:
            for one in self._expected:
                if one.text == payload.text:
                    self._expected.remove(one)
                    return one
        return None

    def _origin(self, payload: AnyPayload) -> ahp.ActionOrigin | None:
        match payload:
            case PermissionResolved(request_id=name) | QuestionAnswered(request_id=name):
                return self._origins.pop(name, None)
            case TurnEnded():
                return self._origins.pop("stop", None)
            case TitleUpdated():
                return self._origins.pop("title", None)
            case _:
                return None

    async def _work(self) -> None:
        while True:
            one = await self._waiting.get()
            try:
                await self._do(one)
            except (ActionRejected, ValueError) as rejected:
                self._reject(one, str(rejected))
            except PorticoError as error:
                self._reject(one, " ".join(filter(None, (error.message, error.suggestion))))
            except Exception:  # top level of a task: the next actions are still taken
                log.exception("an action on %s failed", self.session_id)
                self._reject(one, "Internal error. The server's log has the details.")

    def _reject(self, one: _Dispatched, reason: str) -> None:
        self._actions.append(one.channel, one.action, origin=one.origin, rejection=reason)

    async def _do(self, one: _Dispatched) -> None:
        action, origin = one.action, one.origin
        match action:
            case ahp.ChatTurnStartedAction():
                await self._start_turn(action, origin)
            case ahp.ChatTurnCancelledAction():
                await self._stop_turn(action, origin)
            case ahp.ChatToolCallConfirmedAction():
                await self._confirm(action, origin)
            case ahp.ChatInputCompletedAction():
                await self._answer(action, origin)
            case ahp.ChatPendingMessageSetAction(kind="queued"):
                await self._queue(one, action)
            case ahp.ChatPendingMessageRemovedAction(kind="queued", id=name):
                await self._parts.turn_queue.remove(self.session_id, self.state.queued_id(name))
            case ahp.ChatQueuedMessagesReorderedAction(order=order):
                for place, name in enumerate(order):
                    prompt_id = self.state.queued_id(name)
                    await self._parts.drafts.change_queued(self.session_id, prompt_id, place=place)
            case ahp.SessionTitleChangedAction(title=title):
                self._origins["title"] = origin
                await (await self._parts.turn_queue.open(self.session_id)).rename(title)
            case _:
                await self._accept(one)

    async def _accept(self, one: _Dispatched) -> None:
        """Take an action that is no event of the log: all clients see it at once."""
        draft: str | None = None
        match one.action:
            case ahp.ChatDraftChangedAction(draft=message):
                draft = "" if message is None else message.text
                self.state.write_draft(draft)
            case ahp.SessionActiveClientSetAction(active_client=client):
                if client.client_id != one.origin.client_id:
                    raise ActionRejected("A client can announce only itself.")
                self.state.active_clients[client.client_id] = client
            case ahp.ChangesetFilesReviewChangedAction(files=files, reviewed=reviewed):
                changeset = self.state.changesets.get(changeset_of(one.channel) or "")
                if changeset is None:
                    raise ActionRejected("This is not a changeset.")
                changeset.review(files, reviewed=reviewed)
            case ahp.SessionIsReadChangedAction() | ahp.ChatIsReadChangedAction():
                pass
            case _:
                raise ActionRejected("This host does not take this action.")
        self._actions.append(one.channel, one.action, origin=one.origin)
        if draft is not None:
            await self._parts.drafts.write_draft(self.session_id, draft, one.origin.client_id)

    async def _start_turn(self, action: ahp.ChatTurnStartedAction, origin: ahp.ActionOrigin) -> None:
        if self.state.turns.turn_id is not None:
            raise ActionRejected("A turn is in progress. Queue the message instead.")
        prompt = await read_prompt(action.message, self.state.workspace)
        expected = _ExpectedTurn(action.message.text, origin, turn_id=action.turn_id)
        await self._send(expected, self._parts.turn_queue.send(self.session_id, prompt))
        if self.state.draft and self.state.draft == action.message.text:
            # It was sent; elsewhere it would stay as a draft.
            await self._parts.drafts.write_draft(self.session_id, "", origin.client_id)

    async def _queue(self, one: _Dispatched, action: ahp.ChatPendingMessageSetAction) -> None:
        prompt_id = self.state.queued_id(action.id)
        if self.state.is_queued(prompt_id):
            await self._parts.drafts.change_queued(self.session_id, prompt_id, text=action.message.text)
            return
        prompt = await read_prompt(action.message, self.state.workspace)
        prompt.require_content()
        async with self._queueing:
            self._actions.append(one.channel, action, origin=one.origin)
            expected = _ExpectedTurn(action.message.text, None, queued=action.id)
            try:
                sent = self._parts.turn_queue.send(self.session_id, prompt, queue=True)
                first = await self._send(expected, sent)
            except BaseException:
                self._actions.append(
                    one.channel, ahp.ChatPendingMessageRemovedAction(kind="queued", id=action.id)
                )
                raise
            if isinstance(first, QueuedPrompt):
                self.state.name_queued(first.prompt_id, action.id)

    async def _send(
        self, expected: _ExpectedTurn, updates: AsyncGenerator[Event | QueuedPrompt]
    ) -> Event | QueuedPrompt:
        """Wait until a prompt is in the log or in the queue; its turn continues without the caller."""
        self._expected.append(expected)
        try:
            async with aclosing(updates):
                first = await anext(updates)
        except BaseException:
            if expected in self._expected:
                self._expected.remove(expected)
            raise
        if isinstance(first, QueuedPrompt) and expected in self._expected:
            self._expected.remove(expected)
        return first

    async def _stop_turn(self, action: ahp.ChatTurnCancelledAction, origin: ahp.ActionOrigin) -> None:
        session = self._parts.service.find_session(self.session_id)
        if action.turn_id != self.state.turns.turn_id or session is None or not session.stop():
            raise ActionRejected("This turn is not in progress.")
        self._origins["stop"] = origin

    async def _confirm(self, action: ahp.ChatToolCallConfirmedAction, origin: ahp.ActionOrigin) -> None:
        calls = self.state.turns.pending_calls()
        call = next((one for one in calls if one.tool_id == action.tool_call_id), None)
        if call is None or call.request_id is None:
            raise ActionRejected("No permission request for this tool call is waiting for an answer.")
        if action.edited_tool_input is not None:
            raise ActionRejected("The input of this tool call cannot be edited.")
        option_id = call.choose(action.selected_option_id, approved=action.approved)
        session = self._parts.service.session(self.session_id)
        request_id = call.request_id
        session.decide(request_id, PermissionReply(option_id=option_id, by="person"))
        self._origins[request_id] = origin
        await session.save_answers()

    async def _answer(self, action: ahp.ChatInputCompletedAction, origin: ahp.ActionOrigin) -> None:
        session = self._parts.service.session(self.session_id)
        session.answer(action.request_id, read_answer(action))
        self._origins[action.request_id] = origin
        await session.save_answers()
