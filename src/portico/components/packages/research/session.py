"""One research session: a second session of the agent, opened, asked and closed by Portico.

The client never hears of it. What the agent sends for it is handled here: updates become progress, permission
requests are judged, files of the package can be read, and everything else is refused.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.extensions import SessionPlacement, to_meta
from portico.acp.lenient_decoder import decode
from portico.acp.session_id import read_session_id
from portico.components.packages.errors import ResearchFailed
from portico.components.packages.library import PackageSource
from portico.components.packages.research.permission import judge_request
from portico.conductor.permissions.tool_calls import ToolCallTracker
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.rpc.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
    outcome,
    request,
)

if TYPE_CHECKING:
    from portico.components.packages.proxy import PackageTools

LONGEST_FINDINGS = 16 * 1024
_GRACE_SECONDS = 5.0
_LONGEST_TEXT = 64 * 1024


class SecondSessionRefused(ResearchFailed):
    """The agent does not open another session beside the one that it has."""


class _Prompt(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    prompt: list[acp.ContentBlock]


class ResearchSession:
    """Made for one question. `on_progress` receives what the agent says and does."""

    def __init__(
        self, proxy: "PackageTools", source: PackageSource, on_progress: Callable[[str], None]
    ) -> None:
        self._proxy = proxy
        self._source = source
        self._on_progress = on_progress
        self._calls = ToolCallTracker()
        self._returned: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._said = ""
        self.folder = str(source.tree.root)
        self.session_id: str | None = None

    def return_findings(self, text: str) -> bool:
        """Take the findings. False if there are some already."""
        if self._returned.done():
            return False
        self._returned.set_result(text[:LONGEST_FINDINGS])
        return True

    async def run(self, prompt: str, servers: list[Raw]) -> tuple[str, bool]:
        """The findings, and whether they were returned with the tool. ResearchFailed if there are none."""
        await self._open(servers)
        text = acp.TextContent(text=prompt)
        asked = asyncio.create_task(
            self._proxy.ask_agent("session/prompt", _Prompt(self.session_id or "", [text])),
            name="prompt of a research session",
        )
        try:
            ends: set[asyncio.Future[Any]] = {asked, self._returned}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._returned.done() and not asked.done():
                await asyncio.wait({asked}, timeout=_GRACE_SECONDS)
            return self._outcome(asked)
        finally:
            if not asked.done():
                self._proxy.tell_agent(
                    "session/cancel", acp.CancelNotification(session_id=self.session_id or "")
                )
                asked.cancel()

    async def _open(self, servers: list[Raw]) -> None:
        placed = to_meta(SessionPlacement(workspace=self.folder, reads_only=True))
        params = {"cwd": self.folder, "mcpServers": servers, "_meta": placed}
        opened: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

        def take(answer: Message) -> None:
            if not opened.done():
                opened.set_result(answer)
            elif isinstance(answer.result, Raw) and (late := read_session_id(answer.result)) is not None:
                # The research was stopped meanwhile.
                self._proxy.close_session(late)

        self._proxy.forward_right(request(self._proxy.node.next_id(), "session/new", params), take)
        try:
            made = outcome(await opened)
        except RpcError as error:
            raise SecondSessionRefused(
                f"This agent does not open a second session for research ({error.reason}).",
                suggestion="Use package_search and package_read yourself.",
            ) from error
        self.session_id = read_session_id(made)
        if self.session_id is None:
            raise SecondSessionRefused(
                "This agent opened a session for research without an id.",
                suggestion="Use package_search and package_read yourself.",
            )

    def _outcome(self, asked: "asyncio.Task[Raw]") -> tuple[str, bool]:
        if self._returned.done():
            return self._returned.result(), True
        try:
            asked.result()
        except RpcError as error:
            raise ResearchFailed(
                f"The research ended with an error of the agent: {error.reason}.",
                suggestion="Use package_search and package_read yourself.",
            ) from error
        said = self._said.strip()
        if not said:
            raise ResearchFailed(
                "The research ended without findings.",
                suggestion="Use package_search and package_read yourself.",
            )
        return said[-LONGEST_FINDINGS:], False

    def receive(self, message: Message) -> None:
        """A message of the agent for this session."""
        match message.method:
            case "session/update":
                self._take_update(message)
            case "session/request_permission":
                self._answer_permission(message)
            case "fs/read_text_file":
                self._proxy.node.spawn(self._read_file(message), "file for a research session")
            case other:
                what = f"{other} is not available: this session only reads a package"
                self._proxy.refuse_agent(message, RpcError(METHOD_NOT_FOUND, what))

    def _take_update(self, message: Message) -> None:
        self._calls.record(message, {self.session_id or ""})
        try:
            update = decode(message.params, acp.SessionNotification).update
        except msgspec.DecodeError:
            return
        if isinstance(update, acp.AgentMessageChunk) and isinstance(update.content, acp.TextContent):
            self._said = (self._said + update.content.text)[-_LONGEST_TEXT:]
            self._on_progress(update.content.text)
        elif isinstance(update, acp.ToolCall) and update.title:
            self._on_progress(f"\n{update.title}\n")

    def _answer_permission(self, message: Message) -> None:
        answer = judge_request(message.params, self._source.tree, self._calls)
        if answer is None:
            self._proxy.refuse_agent(
                message, RpcError(INVALID_PARAMS, "denied: this session only reads a package")
            )
        else:
            self._proxy.answer_agent(message, answer)

    async def _read_file(self, message: Message) -> None:
        try:
            asked = decode(message.params, acp.ReadTextFileRequest)
            text = await within_deadline(lambda: self._source.tree.read(self._inside(asked.path)))
        except (PorticoError, ValueError, msgspec.DecodeError) as error:
            self._proxy.refuse_agent(message, RpcError(INVALID_PARAMS, f"{error}"))
            return
        lines = text.splitlines(keepends=True)[max((asked.line or 1) - 1, 0) :]
        content = "".join(lines if asked.limit is None else lines[: asked.limit])
        self._proxy.answer_agent(message, acp.ReadTextFileResponse(content=content))

    def _inside(self, path: str) -> str:
        """A path as agents give it, absolute, as one in the package. ValueError if it is outside."""
        root = Path(self._source.tree.root)
        return (
            PurePath(path).relative_to(root) if PurePath(path).is_absolute() else PurePath(path)
        ).as_posix()
