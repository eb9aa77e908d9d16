"""Porter as an ACP agent: opens, lists, loads and closes sessions, and runs one turn at a time in each.

The commands are imported with the first session, so that `initialize` is answered at once.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

from portico import __version__
from portico.acp import _schema as schema
from portico.acp.agent import AgentEnd
from portico.acp.ends import PROTOCOL_VERSION, RESOURCE_NOT_FOUND
from portico.domain.errors import StoreFailed
from portico.domain.ids import make_session_id
from portico.porter.conversation import Conversation
from portico.porter.files import ClientFiles, DiskFiles, Files
from portico.porter.replay import replay
from portico.porter.terminals import ClientTerminals, LocalTerminals
from portico.porter.transcripts import (
    Answered,
    Listing,
    Opened,
    Prompted,
    Titled,
    Transcript,
    Transcripts,
    iso_time,
)
from portico.porter.workspace import Workspace
from portico.rpc.connection import Tap
from portico.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError
from portico.rpc.streams import ByteStream

PAGE = 50

_CAPABILITIES = schema.AgentCapabilities(
    load_session=True,
    prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
    session_capabilities=schema.SessionCapabilities(
        list=schema.SessionListCapabilities(),
        delete=schema.SessionDeleteCapabilities(),
        additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
        resume=schema.SessionResumeCapabilities(),
        close=schema.SessionCloseCapabilities(),
    ),
)


class Porter:
    """One connection with a client. `state` is the folder that conversations are kept in."""

    def __init__(
        self, stream: ByteStream, *, state: Path, environ: Mapping[str, str], tap: Tap | None = None
    ) -> None:
        self._end = AgentEnd(
            stream,
            name="client",
            serve={
                "initialize": self._initialize,
                "session/new": self._new,
                "session/load": self._load,
                "session/resume": self._resume,
                "session/list": self._list,
                "session/close": self._close,
                "session/delete": self._delete,
                "session/prompt": self._prompt,
            },
            on_cancel=self._cancel,
            tap=tap,
        )
        self._transcripts = Transcripts(state)
        self._environ = environ
        self._client = schema.ClientCapabilities()
        self._open: dict[str, Conversation] = {}

    async def run(self) -> None:
        """Serve until the client is gone. Whatever still ran then has been stopped."""
        try:
            await self._end.run()
        finally:
            await self._end.close()

    async def _initialize(self, request: schema.InitializeRequest) -> schema.InitializeResponse:
        self._client = request.client_capabilities
        # Porter knows one version; a client that asked for another decides whether it can speak this one.
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=_CAPABILITIES,
            agent_info=schema.Implementation(name="porter", title="Porter", version=__version__),
        )

    async def _new(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        workspace = _workspace(request.cwd, request.additional_directories)
        if not workspace.root.is_dir():
            raise RpcError(INVALID_PARAMS, f"cwd {request.cwd!r} is not a folder on this machine")
        now = time.time_ns() // 1_000_000
        opened = Opened(
            session_id=make_session_id(now, os.urandom(8)),
            cwd=request.cwd,
            additional_directories=tuple(request.additional_directories),
            created=iso_time(now),
        )
        try:
            transcript = self._transcripts.create(opened)
        except StoreFailed as error:
            raise RpcError(INTERNAL_ERROR, error.message) from error
        conversation = self._begin(opened.session_id, workspace, transcript)
        self._announce(conversation)
        return schema.NewSessionResponse(session_id=conversation.id)

    async def _load(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        conversation = await self._reopen(request.session_id, request.cwd, request.additional_directories)
        entries = await asyncio.to_thread(conversation.transcript.read)
        for update in replay(entries):
            self._end.update(conversation.id, update)
            await self._end.drain()
        self._announce(conversation)
        return schema.LoadSessionResponse()

    async def _resume(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        conversation = await self._reopen(request.session_id, request.cwd, request.additional_directories)
        self._announce(conversation)
        return schema.ResumeSessionResponse()

    async def _list(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        found = await asyncio.to_thread(self._transcripts.newest_first)
        if request.cwd is not None:
            wanted = os.path.normpath(request.cwd)
            found = [listing for listing in found if os.path.normpath(listing.opened.cwd) == wanted]
        if request.cursor is not None:
            after = _position(request.cursor)
            found = [listing for listing in found if listing.order < after]
        page = found[:PAGE]
        return schema.ListSessionsResponse(
            sessions=[_info(listing) for listing in page],
            next_cursor=_cursor(page[-1]) if len(found) > PAGE else None,
        )

    async def _close(self, request: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        conversation = self._opened(request.session_id)
        await _ended(conversation)
        self._open.pop(conversation.id, None)
        return schema.CloseSessionResponse()

    async def _delete(self, request: schema.DeleteSessionRequest) -> schema.DeleteSessionResponse:
        if (conversation := self._open.pop(request.session_id, None)) is not None:
            await _ended(conversation)
        await asyncio.to_thread(self._transcripts.delete, request.session_id)
        return schema.DeleteSessionResponse()

    async def _prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        from portico.porter.commands.table import perform
        from portico.porter.markdown import shortened
        from portico.porter.prompt import read_prompt
        from portico.porter.turn import Turn

        conversation = self._opened(request.session_id)
        if conversation.running is not None:
            raise RpcError(INVALID_REQUEST, "a turn is already running in this session; cancel it first")
        prompt = read_prompt(request.prompt)
        turn = Turn(self._end, conversation, prompt.attached, self._environ)
        conversation.running = asyncio.create_task(perform(turn, prompt), name=f"turn in {conversation.id}")
        try:
            if conversation.title is None:
                title = shortened(request_text(prompt.command, prompt.argument), 60) or "Conversation"
                self._set_title(conversation, title)
            conversation.transcript.append(Prompted(at=_now(), prompt=tuple(request.prompt)))
            reason = await _outcome(conversation.running)
            conversation.transcript.append(Answered(at=_now(), stop_reason=reason))
        except StoreFailed as error:
            raise RpcError(INTERNAL_ERROR, error.message) from error
        finally:
            await _ended(conversation)
            conversation.running = None
        return schema.PromptResponse(stop_reason=reason)
