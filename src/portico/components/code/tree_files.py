"""The files of a session as its tools see them, unsaved text included, and as they change them."""

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.components.code.session_paths import SessionPaths
from portico.components.permission import request_permission
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.ids import SessionId
from portico.domain.windows import CodeFileEdit
from portico.mcp.tools import ToolFailure
from portico.rpc.messages import RpcError
from portico.sessions.ports import EditorFiles

_ALLOW = "change"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Change the files", kind="allow_once"),
    acp.PermissionOption(option_id="leave", name="Do not change them", kind="reject_once"),
]
_MOST_DIFFS = 50


class FileSources(msgspec.Struct, frozen=True):
    """Readers of files: the person's for a session, and those on disk below a folder."""

    of_session: Callable[[SessionId, Path], EditorFiles]
    on_disk: Callable[[Path], EditorFiles]


class ClientFileAccess(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the client of a chain reads and writes files."""

    read_text_file: bool = False
    write_text_file: bool = False

    @classmethod
    def announced_in(cls, hello: msgspec.Raw) -> "ClientFileAccess":
        try:
            asked = codecs.decode_json(hello, _Hello)
        except msgspec.DecodeError:
            return cls()
        return asked.client_capabilities.fs or cls()


class _Capabilities(msgspec.Struct, frozen=True):
    fs: ClientFileAccess | None = None


class _Hello(msgspec.Struct, frozen=True, rename="camel"):
    client_capabilities: _Capabilities = _Capabilities()


class TreeFiles:
    """Files of one session. Writes go to the client, so permissions and review see them like those of the agent."""

    def __init__(
        self,
        proxy: Proxy,
        session: ChainSession,
        paths: SessionPaths,
        sources: FileSources,
        client: ClientFileAccess,
    ) -> None:
        self._proxy = proxy
        self._session = session
        self._paths = paths
        self._sources = sources
        self._client = client

    async def read(self, path: str) -> str:
        """The text of a file in the session's folder. PorticoError if it cannot be read."""
        if self._paths.apart:
            return await self._sources.on_disk(self._paths.folder).read_text(path)
        if self._paths.session_id:
            return await self.read_theirs(path)
        local = await self._sources.on_disk(self._paths.folder).read_text(path)
        # Read on the disk as well: what an agent must not read there, it must not read in the editor.
        return await self._read_at_client(path) if self._client.read_text_file else local

    async def read_theirs(self, path: str) -> str:
        """The text of a file in the person's workspace."""
        return await self._sources.of_session(self._paths.session_id, self._paths.workspace).read_text(path)

    async def change(self, title: str, edits: Sequence[CodeFileEdit]) -> None:
        """Write all files once the person agrees. ToolFailure if they do not, or one has changed meanwhile."""
        if not self._client.write_text_file:
            raise ToolFailure(
                "The editor of this session cannot write files. Make the change with your own tools."
            )
        before = {edit.path: await self._read_or_fail(edit.path) for edit in edits}
        if await request_permission(self._proxy.node, self._question(title, edits, before)) != _ALLOW:
            raise ToolFailure(
                "The person did not agree, so nothing was changed. Continue without it, or ask why."
            )
        for edit in edits:
            if await self._read_or_fail(edit.path) != before[edit.path]:
                raise ToolFailure(f"{edit.path} was changed meanwhile; it was left as it is. Try again.")
            await self._write(edit)

    async def _read_or_fail(self, path: str) -> str:
        try:
            return await (self._read_at_client(path) if self._client.read_text_file else self.read(path))
        except PorticoError as error:
            raise ToolFailure(error.message) from error

    async def _read_at_client(self, path: str) -> str:
        params = acp.ReadTextFileRequest(session_id=self._session.session_id or "", path=path)
        try:
            answer = await self._proxy.ask_client("fs/read_text_file", params)
            return decode(answer, acp.ReadTextFileResponse).content
        except (RpcError, msgspec.DecodeError) as error:
            raise InvalidInput(f"{path} cannot be read: {error}") from error

    async def _write(self, edit: CodeFileEdit) -> None:
        params = acp.WriteTextFileRequest(
            session_id=self._session.session_id or "", path=edit.path, content=edit.content or ""
        )
        try:
            await self._proxy.ask_client("fs/write_text_file", params)
        except RpcError as error:
            raise ToolFailure(f"{edit.path} was not written: {error.reason}") from error

    def _question(
        self, title: str, edits: Sequence[CodeFileEdit], before: dict[str, str]
    ) -> acp.RequestPermissionRequest:
        diffs: list[acp.ToolCallContent] = [
            acp.Diff(path=edit.path, old_text=before[edit.path], new_text=edit.content or "")
            for edit in edits[:_MOST_DIFFS]
        ]
        call = acp.ToolCallUpdate(
            tool_call_id=f"portico-edit-{secrets.token_hex(8)}",
            title=title,
            kind="edit",
            content=diffs,
            locations=[acp.ToolCallLocation(path=edit.path) for edit in edits],
        )
        return acp.RequestPermissionRequest(
            session_id=self._session.session_id or "", tool_call=call, options=_OPTIONS
        )
