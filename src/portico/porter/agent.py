"""Porter as an ACP agent: opens, lists, loads and closes sessions, and runs one turn at a time in each.

The commands are imported with the first session, so that `initialize` is answered at once.
"""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from portico import __version__
from portico.acp import _schema as schema
from portico.acp.agent import AgentEnd
from portico.acp.ends import PROTOCOL_VERSION, RESOURCE_NOT_FOUND, Serve
from portico.domain.errors import PorticoError
from portico.domain.ids import make_session_id
from portico.porter.conversation import Conversation
from portico.porter.files import ClientFiles, DiskFiles, Files
from portico.porter.terminals import ClientTerminals, LocalTerminals
from portico.porter.transcripts import (
    Answered,
    AnyEntry,
    Listing,
    Opened,
    Prompted,
    Transcript,
    Transcripts,
    iso_time,
)
from portico.porter.workspace import Workspace
from portico.rpc.connection import Tap
from portico.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, ConnectionLost, RpcError
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
        served: dict[str, Serve] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
        }
        serve = {method: _answering(function) for method, function in served.items()}
        self._end = AgentEnd(stream, name="client", serve=serve, on_cancel=self._cancel, tap=tap)
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
        if not await asyncio.to_thread(workspace.root.is_dir):
            raise RpcError(INVALID_PARAMS, f"cwd {request.cwd!r} is not a folder on this machine")
        now = time.time_ns() // 1_000_000
        opened = Opened(
            session_id=make_session_id(now, os.urandom(8)),
            cwd=request.cwd,
            additional_directories=tuple(request.additional_directories),
            created=iso_time(now),
        )
        conversation = self._begin(opened.session_id, workspace, self._transcripts.create(opened))
        self._announce(conversation)
        return schema.NewSessionResponse(session_id=conversation.id)

    async def _load(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        from portico.porter.replay import replay

        conversation, entries = await self._reopen(
            request.session_id, request.cwd, request.additional_directories
        )
        for update in replay(entries):
            self._end.update(conversation.id, update)
            await self._end.drain()
        self._announce(conversation)
        return schema.LoadSessionResponse()

    async def _resume(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        conversation, _ = await self._reopen(request.session_id, request.cwd, request.additional_directories)
        self._announce(conversation)
        return schema.ResumeSessionResponse()

    async def _list(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        found = await asyncio.to_thread(self._transcripts.newest_first)
        if request.cwd is not None:
            found = [listing for listing in found if Path(listing.opened.cwd) == Path(request.cwd)]
        if request.cursor is not None:
            after = _position(request.cursor)
            found = [listing for listing in found if listing.order < after]
        page = found[:PAGE]
        return schema.ListSessionsResponse(
            sessions=[_info(listing) for listing in page],
            next_cursor=_cursor(page[-1]) if len(found) > PAGE else None,
        )

    async def _close(self, request: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        await self._opened(request.session_id).stop()
        self._open.pop(request.session_id, None)
        return schema.CloseSessionResponse()

    async def _delete(self, request: schema.DeleteSessionRequest) -> schema.DeleteSessionResponse:
        if (conversation := self._open.pop(request.session_id, None)) is not None:
            await conversation.stop()
        await asyncio.to_thread(self._transcripts.delete, request.session_id)
        return schema.DeleteSessionResponse()

    async def _prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        from portico.porter.commands.table import perform
        from portico.porter.prompt import read_prompt
        from portico.porter.turn import Turn

        conversation = self._idle(self._opened(request.session_id))
        prompt = read_prompt(request.prompt)
        if conversation.title is None:
            self._end.update(conversation.id, conversation.entitle(prompt.summary()))
        conversation.transcript.append(Prompted(at=_now(), prompt=tuple(request.prompt)))
        turn = Turn(self._end, conversation, prompt.attached, self._environ)
        reason = await conversation.take_turn(perform(turn, prompt))
        conversation.transcript.append(Answered(at=_now(), stop_reason=reason))
        return schema.PromptResponse(stop_reason=reason)

    def _cancel(self, session_id: str) -> None:
        if (conversation := self._open.get(session_id)) is not None:
            conversation.cancel()

    async def _reopen(
        self, session_id: str, cwd: str, directories: Sequence[str]
    ) -> tuple[Conversation, list[AnyEntry]]:
        workspace = _workspace(cwd, directories)
        if session_id in self._open:
            self._idle(self._open[session_id])
        transcript = await asyncio.to_thread(self._transcripts.find, session_id)
        if transcript is None:
            raise RpcError(RESOURCE_NOT_FOUND, f"Porter has no session {session_id!r}")
        entries = await asyncio.to_thread(transcript.read)
        conversation = self._begin(session_id, workspace, transcript)
        conversation.recall(entries)
        return conversation, entries

    def _begin(self, session_id: str, workspace: Workspace, transcript: Transcript) -> Conversation:
        disk, client = DiskFiles(workspace), ClientFiles(self._end, session_id)
        files = Files(
            client if self._client.fs.read_text_file else disk,
            client if self._client.fs.write_text_file else disk,
        )
        terminals = (
            ClientTerminals(self._end, session_id) if self._client.terminal else LocalTerminals(self._environ)
        )
        conversation = Conversation(session_id, workspace, transcript, files, terminals)
        self._open[session_id] = conversation
        return conversation

    def _announce(self, conversation: Conversation) -> None:
        from portico.porter.commands.table import available_commands

        self._end.update(conversation.id, available_commands())

    def _opened(self, session_id: str) -> Conversation:
        if (conversation := self._open.get(session_id)) is not None:
            return conversation
        known = self._transcripts.find(session_id) is not None
        hint = "it is not open; load or resume it first" if known else "there is no such session"
        raise RpcError(RESOURCE_NOT_FOUND, f"session {session_id!r}: {hint}")

    def _idle(self, conversation: Conversation) -> Conversation:
        if conversation.is_busy:
            raise RpcError(INVALID_REQUEST, "a turn is running in this session; wait for it or cancel it")
        return conversation


def _answering(serve: Serve) -> Serve:
    """Failures that have a name here, as error answers that a client can show."""

    async def answer(request: Any) -> Any:
        try:
            return await serve(request)
        except PorticoError as error:
            words = f"{error.message} {error.suggestion}" if error.suggestion else error.message
            raise RpcError(INTERNAL_ERROR, words) from error
        except ConnectionLost as error:
            raise RpcError(INTERNAL_ERROR, "the client is gone") from error

    return answer


def _workspace(cwd: str, directories: Sequence[str]) -> Workspace:
    for name, path in (("cwd", cwd), *(("additionalDirectories", path) for path in directories)):
        if not Path(path).is_absolute() or "\0" in path:
            raise RpcError(INVALID_PARAMS, f"{name} must be an absolute path, not {path!r}")
    return Workspace(Path(cwd), tuple(map(Path, directories)))


def _info(listing: Listing) -> schema.SessionInfo:
    return schema.SessionInfo(
        session_id=listing.opened.session_id,
        cwd=listing.opened.cwd,
        additional_directories=list(listing.opened.additional_directories),
        title=listing.title,
        updated_at=listing.updated,
    )


def _cursor(last: Listing) -> str:
    return f"{last.changed_ns}.{last.opened.session_id}"


def _position(cursor: str) -> tuple[int, str]:
    """Where the page after a cursor begins: before the session that it names."""
    changed, _, session_id = cursor.partition(".")
    try:
        return int(changed), session_id
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"{cursor!r} is not a cursor of this list") from error


def _now() -> str:
    return iso_time(time.time_ns() // 1_000_000)
