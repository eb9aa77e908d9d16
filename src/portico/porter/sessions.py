"""Porter's sessions: opened, listed, loaded and closed as the protocol asks, with one turn at a time in each."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from portico.acp import _schema as schema
from portico.acp.agent import AgentEnd
from portico.acp.ends import RESOURCE_NOT_FOUND
from portico.domain.ids import make_session_id
from portico.porter.commands.table import available_commands, perform
from portico.porter.conversation import Conversation
from portico.porter.files import ClientFiles, DiskFiles, Files
from portico.porter.prompt import read_prompt
from portico.porter.replay import replay
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
from portico.porter.turn import Turn
from portico.porter.workspace import Workspace, is_folder
from portico.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, RpcError

PAGE = 50


class Sessions:
    """Every session of one connection. Its public methods serve the requests of the protocol."""

    def __init__(
        self,
        end: AgentEnd,
        state: Path,
        environ: Mapping[str, str],
        client: schema.ClientCapabilities,
    ) -> None:
        self._end = end
        self._transcripts = Transcripts(state)
        self._environ = environ
        self._client = client
        self._open: dict[str, Conversation] = {}

    async def new(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        workspace = _workspace(request.cwd, request.additional_directories)
        if not await asyncio.to_thread(is_folder, workspace.root):
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

    async def load(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        conversation, entries = await self._reopen(
            request.session_id, request.cwd, request.additional_directories
        )
        for update in replay(entries):
            self._end.update(conversation.id, update)
            await self._end.drain()
        self._announce(conversation)
        return schema.LoadSessionResponse()

    async def resume(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        conversation, _ = await self._reopen(request.session_id, request.cwd, request.additional_directories)
        self._announce(conversation)
        return schema.ResumeSessionResponse()

    async def list_all(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
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

    async def close(self, request: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        await self._opened(request.session_id).stop()
        self._open.pop(request.session_id, None)
        return schema.CloseSessionResponse()

    async def delete(self, request: schema.DeleteSessionRequest) -> schema.DeleteSessionResponse:
        if (conversation := self._open.pop(request.session_id, None)) is not None:
            await conversation.stop()
        await asyncio.to_thread(self._transcripts.delete, request.session_id)
        return schema.DeleteSessionResponse()

    async def prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        conversation = self._idle(self._opened(request.session_id))
        prompt = read_prompt(request.prompt)
        if conversation.title is None:
            self._end.update(conversation.id, conversation.entitle(prompt.summary()))
        conversation.transcript.append(Prompted(at=_now(), prompt=tuple(request.prompt)))
        turn = Turn(self._end, conversation, prompt.attached, self._environ)
        reason = await conversation.take_turn(perform(turn, prompt))
        conversation.transcript.append(Answered(at=_now(), stop_reason=reason))
        return schema.PromptResponse(stop_reason=reason)

    def cancel(self, session_id: str) -> None:
        if (conversation := self._open.get(session_id)) is not None:
            conversation.cancel()

    async def _reopen(
        self, session_id: str, cwd: str, directories: Sequence[str]
    ) -> tuple[Conversation, list[AnyEntry]]:
        workspace = _workspace(cwd, directories)
        if session_id in self._open:
            self._idle(self._open[session_id])
        transcript = self._transcripts.find(session_id)
        entries = [] if transcript is None else await asyncio.to_thread(transcript.read)
        if transcript is None or not entries or not isinstance(entries[0], Opened):
            raise RpcError(RESOURCE_NOT_FOUND, f"Porter has no session {session_id!r}")
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
