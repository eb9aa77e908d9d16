"""Review proxy for ACP editors: `portico acp --mode proposal|worktree|branch`.

A session that the editor opens in a folder works in a working copy of it. The editor sees its own paths (the
path translation is the next proxy), file and terminal requests of the agent go to the working copy, and the
editor gets the answer to a prompt only after the person has decided on the changes of the turn.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.extensions import SessionPlacement, placement_in, to_meta
from portico.acp.lenient_decoder import decode
from portico.acp.session_id import read_session_id
from portico.acp.session_methods import OPENING_METHODS, REOPENING_METHODS
from portico.conductor.session_folders import succeeded
from portico.domain import codecs
from portico.domain.errors import PorticoError, StoreFailed
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.review.acp.editor_sessions import EditorSession, EditorSessions
from portico.review.acp.proposal_card import failure_message
from portico.review.acp.turns import EditorTurns
from portico.review.acp.working_copy_files import WorkingCopyFiles
from portico.review.acp.working_copy_proxy import ReviewedSession, WorkingCopyProxy
from portico.review.service import ReviewService
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    REQUEST_CANCELLED,
    Message,
    RpcError,
    cancelled_request_id,
    outcome,
    response,
)
from portico.sessions.ports import EditorFiles

log = logging.getLogger(__name__)

_LAST_SECONDS = 10.0


class _Opening(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str
    session_id: str | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class _Prompt(msgspec.Struct, frozen=True):
    prompt: tuple[_Block, ...]


class ReviewProxyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies and settings of a review proxy; one for each chain."""

    agent: str
    mode: ReviewMode
    reviews: ReviewService
    sessions: EditorSessions
    open_files: Callable[[Path], EditorFiles]
    make_id: Callable[[], SessionId]
    keeps_out: Callable[[Path], bool] = lambda _: False
    """Whether the kernel keeps the agent from writing a folder. Blocks."""


class _Turn:
    """A prompt on its way. The agent has it once it is `begun`, and has answered once it is `ended`."""

    def __init__(self, message: Message, turns: EditorTurns) -> None:
        self.message = message
        self.turns = turns
        self.cancelled = asyncio.Event()
        self.cancelled_late = False
        self.begun = False
        self.ended = False

    @property
    def is_with_agent(self) -> bool:
        return self.begun and not self.ended

    def cancel(self) -> None:
        self.cancelled_late = self.ended
        self.cancelled.set()


class ReviewProxy(WorkingCopyProxy):
    """Stands on the client's side of the path translation, so that it sees the editor's own paths."""

    name = "review"
    client_methods = OPENING_METHODS | {
        "initialize", "session/prompt", "session/cancel", "session/list", "session/delete", CANCEL_REQUEST
    }  # fmt: skip

    def __init__(self, options: ReviewProxyOptions) -> None:
        super().__init__()
        self._options = options
        self._editor_turns: dict[str, EditorTurns] = {}
        self._turns: dict[str, _Turn] = {}

    def from_client(self, message: Message) -> None:
        match message.method:
            case "initialize":
                self.met(message.params)
                self.node.spawn(self._end_turns_at_the_end(), "ending turns with the chain")
                self.node.send_right(message)
            case "session/prompt":
                self._prompt(message)
            case "session/cancel":
                self._cancel(message, self._turns.get(_session_of(message.params)))
            case "$/cancel_request":
                self._cancel(message, self._turn_of(message.params))
            case "session/list":
                self._list(message)
            case "session/delete":
                self.forward_right(message, lambda answer: self._deleted(message, answer))
            case _:
                self.node.spawn(self._open_session(message), "opening a session")

    async def _open_session(self, message: Message) -> None:
        """Open a session in its working copy, and name the workspace in `_meta`."""
        try:
            asked = codecs.decode_json(message.params, _Opening)
        except msgspec.DecodeError:
            self.node.send_right(message)
            return
        options, workspace = self._options, Path(asked.cwd)
        known = None
        if message.method in REOPENING_METHODS and asked.session_id is not None:
            known = options.sessions.find(options.agent, asked.session_id)
        session_id = options.make_id() if known is None else known.session_id
        try:
            review = await options.reviews.open(session_id, workspace, options.mode)
        except PorticoError as error:
            self.refuse_client(message, RpcError(INVALID_PARAMS, failure_message(error)))
            return
        files = None
        if review.folder != workspace:
            files = WorkingCopyFiles(workspace, review.folder, options.open_files, review.adopt)
            self.opening.append(files)
        confined = files is not None and await self._is_confined(workspace)
        placed = SessionPlacement(
            session=session_id,
            workspace=asked.cwd,
            mode=options.mode,
            reads_only=placement_in(asked.meta).reads_only,
        )
        fields = codecs.decode_json(message.params, dict[str, Raw])
        meta = {**asked.meta, **to_meta(placed)} if isinstance(asked.meta, dict) else to_meta(placed)
        params = {**fields, "cwd": str(review.folder), "_meta": meta}

        def answered(answer: Message) -> None:
            if files is not None:
                self.opening.remove(files)
            if not succeeded(answer) and known is None:
                self.node.spawn(self._forget(session_id, workspace, answer), "forgetting a session")
                return
            if succeeded(answer):
                naming = message.params if message.method in REOPENING_METHODS else outcome(answer)
                session = ReviewedSession(
                    agent_session_id=_session_of(naming),
                    session_id=session_id,
                    workspace=workspace,
                    review=review,
                    files=files,
                )
                self._opened(session, confined=confined)
            self.node.send_left(answer)

        self.forward_right(message.with_params(params), answered)

    async def _is_confined(self, workspace: Path) -> bool:
        """Whether a sandbox keeps the agent from writing a folder. Commands that the editor runs for it are
        not confined.
        """
        return not self.runs_commands and await asyncio.to_thread(self._options.keeps_out, workspace)

    def _opened(self, session: ReviewedSession, *, confined: bool) -> None:
        def tell(update: acp.SessionUpdate) -> None:
            self.tell_client(
                "session/update", acp.SessionNotification(session_id=session.agent_session_id, update=update)
            )

        self.sessions[session.agent_session_id] = session
        self._editor_turns[session.agent_session_id] = EditorTurns(
            session, self._options.reviews, tell, self.ask_client, confined=confined
        )
        named = EditorSession(
            agent=self._options.agent,
            agent_session_id=session.agent_session_id,
            session_id=session.session_id,
            workspace=str(session.workspace),
            mode=self._options.mode,
        )
        try:
            self._options.sessions.remember(named)
        except StoreFailed as error:  # It works as long as this process lives.
            log.warning("%s", error.message)

    def _deleted(self, asked: Message, answer: Message) -> None:
        options, agent_session_id = self._options, _session_of(asked.params)
        known = options.sessions.find(options.agent, agent_session_id)
        if known is None or not succeeded(answer):
            self.node.send_left(answer)
            return
        self.sessions.pop(agent_session_id, None)
        self._editor_turns.pop(agent_session_id, None)
        options.sessions.forget(options.agent, agent_session_id)
        self.node.spawn(self._forget(known.session_id, Path(known.workspace), answer), "forgetting a session")

    async def _forget(self, session_id: SessionId, workspace: Path, answer: Message) -> None:
        """Delete the review state of a session, then pass on the agent's answer."""
        try:
            await self._options.reviews.forget(session_id, workspace)
        except PorticoError as error:
            log.warning("what was kept for the session %s is still there: %s", session_id, error.message)
        self.node.send_left(answer)

    def _list(self, message: Message) -> None:
        """The agent knows its sessions by the folders they work in; the editor asks by its own."""
        try:
            fields = codecs.decode_json(message.params, dict[str, Raw])
            cwd = codecs.decode_json(fields.pop("cwd", Raw(b"null")), str | None)
        except msgspec.DecodeError:
            self.node.send_right(message)
            return
        self.forward_right(
            message.with_params(fields), lambda answer: self.node.send_left(self._listed(answer, cwd))
        )

    def _listed(self, answer: Message, cwd: str | None) -> Message:
        try:
            fields = codecs.decode_json(outcome(answer), dict[str, Raw])
            listed = codecs.decode_json(fields["sessions"], list[dict[str, Any]])
        except (RpcError, msgspec.DecodeError, KeyError):
            return answer
        for one in listed:
            known = self._options.sessions.find(self._options.agent, str(one.get("sessionId")))
            if known is not None:
                one["cwd"] = known.workspace
        shown = [one for one in listed if cwd in (None, one.get("cwd"))]
        return response(answer.id, {**fields, "sessions": shown})  # type: ignore[arg-type]

    def _prompt(self, message: Message) -> None:
        session_id = _session_of(message.params)
        turns = self._editor_turns.get(session_id)
        if turns is None or session_id in self._turns or not message.is_request:
            self.node.send_right(message)
            return
        turn = self._turns[session_id] = _Turn(message, turns)
        self.node.spawn(self._begin(session_id, turn), "beginning a turn")

    async def _begin(self, session_id: str, turn: _Turn) -> None:
        try:
            await turn.turns.begin(_label(turn.message.params))
        except PorticoError as error:
            del self._turns[session_id]
            self.refuse_client(turn.message, RpcError(INTERNAL_ERROR, failure_message(error)))
            return
        if turn.cancelled.is_set():
            await turn.turns.end()
            del self._turns[session_id]
            self.answer_client(turn.message, acp.PromptResponse(stop_reason="cancelled"))
            return
        turn.begun = True
        self.forward_right(turn.message, lambda answer: self._answered(session_id, turn, answer))

    def _answered(self, session_id: str, turn: _Turn, answer: Message) -> None:
        turn.ended = True
        self.node.spawn(self._finish(session_id, turn, answer), "ending a turn")

    async def _finish(self, session_id: str, turn: _Turn, answer: Message) -> None:
        """Ask for decisions, then answer the prompt."""
        try:
            await turn.turns.finish(self.buffers, turn.cancelled, asks=_came_to_its_end(answer))
        finally:
            del self._turns[session_id]
            if turn.cancelled_late and succeeded(answer):
                answer = response(answer.id, acp.PromptResponse(stop_reason="cancelled"))  # type: ignore[arg-type]
            self.node.send_left(answer)

    def _cancel(self, message: Message, turn: _Turn | None) -> None:
        if turn is None or turn.is_with_agent:
            self.node.send_right(message)
        if turn is not None:
            turn.cancel()

    def _turn_of(self, cancel: Raw) -> _Turn | None:
        """The turn whose prompt is cancelled."""
        request_id = cancelled_request_id(cancel)
        return next((turn for turn in self._turns.values() if turn.message.id == request_id), None)

    async def _end_turns_at_the_end(self) -> None:
        """Propose what running turns changed when the chain ends, which cancels this task."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            for turns in self._editor_turns.values():
                with suppress(PorticoError, TimeoutError):
                    async with asyncio.timeout(_LAST_SECONDS):
                        await turns.end()


def _session_of(params: Raw) -> str:
    return read_session_id(params) or ""


def _came_to_its_end(answer: Message) -> bool:
    """Whether the agent ended its turn by itself, be it with an error: what it changed is there all the same."""
    try:
        return decode(outcome(answer), acp.PromptResponse).stop_reason != "cancelled"
    except RpcError as error:
        return error.code != REQUEST_CANCELLED
    except msgspec.DecodeError:
        return True


def _label(params: Raw) -> str:
    """Label of a turn: the text of its prompt."""
    try:
        blocks = codecs.decode_json(params, _Prompt).prompt
    except msgspec.DecodeError:
        return ""
    return " ".join(block.text for block in blocks if block.type == "text" and block.text)
