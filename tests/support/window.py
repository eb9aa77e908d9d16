"""An editor window as a program: attached to a real server over Connect, with buffers, and answers that a test sets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.api.v1.agent_client import AgentServiceClient
from tests.support.serving import Server

DEADLINE = 60.0
EVERYTHING = pb.EditorCapabilities(buffers=True, edits=True, lookups=True, commands=True)
Answers = Callable[[pb.EditorRequest], Awaitable[tuple[str, Any] | None]]


class ScriptedWindow:
    """Keeps unsaved texts; other requests are answered by `answers`, or not at all."""

    def __init__(self, server: Server, name: str, folders: list[str], capabilities: pb.EditorCapabilities):
        self.service = AgentServiceClient(server.url.rstrip("/"))
        self.headers = {"authorization": f"Bearer {server.token}"}
        self.hello = pb.AttachEditorRequest(name=name, folders=folders, capabilities=capabilities)
        self.editor_id = ""
        self.buffers: dict[str, str] = {}
        self.answers: Answers | None = None
        self.asked: list[pb.EditorRequest] = []
        self.cancelled: list[str] = []
        self._news = asyncio.Event()
        self._working: set[asyncio.Task[None]] = set()

    async def run(self, attached: asyncio.Event) -> None:
        stream = self.service.attach_editor(self.hello, headers=self.headers)
        async with aclosing(stream) as updates:  # type: ignore[type-var]
            async for told in updates:
                assert told.update is not None
                match told.update.field:
                    case "attached":
                        self.editor_id = told.update.value.editor_id
                        attached.set()
                    case "request":
                        self.asked.append(told.update.value)
                        task = asyncio.create_task(self._serve(told.update.value))
                        self._working.add(task)
                        task.add_done_callback(self._working.discard)
                    case "cancelled":
                        self.cancelled.append(told.update.value.request_id)
                    case _:
                        pass
                self._news.set()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Until something is so; looked at whenever the server has said something."""
        async with asyncio.timeout(DEADLINE):
            while not happened():
                self._news.clear()
                await self._news.wait()

    async def type(self, path: Path, text: str, *, focused: bool = True) -> None:
        """Change a file without saving it, and say so."""
        self.buffers[str(path)] = text
        await self.update_status(focused=focused)

    async def update_status(self, *, focused: bool) -> None:
        state = pb.EditorState(editor_id=self.editor_id, unsaved=list(self.buffers), focused=focused)
        await self.submit("editor_state", state)

    async def reply(self, request_id: str, field: str, value: Any) -> None:
        await self.submit("editor_reply", pb.EditorReply(request_id=request_id, result=one_of(field, value)))

    async def submit(self, field: str, value: object) -> None:
        request = pb.SubmitClientEventRequest(event=one_of(field, value))
        await self.service.submit_client_event(request, headers=self.headers)

    async def _serve(self, asked: pb.EditorRequest) -> None:
        answer = await (self.answers or self._own)(asked)
        if answer is not None:
            await self.reply(asked.request_id, *answer)

    async def _own(self, asked: pb.EditorRequest) -> tuple[str, Any] | None:
        """As an editor does: reads of buffers, and edits of files that still hold what is expected."""
        assert asked.request is not None
        wanted: Any = asked.request.value
        if isinstance(wanted, pb.ReadBuffer):
            return "buffer", pb.BufferText(text=self.buffers.get(wanted.path))
        if isinstance(wanted, pb.ApplyEdits):
            changed = [
                one.path
                for one in wanted.files
                if self.buffers.get(one.path) != (one.expected if one.has_field("expected") else None)
            ]
            if not changed:
                self.buffers.update({one.path: one.content or "" for one in wanted.files})
            return "edits", pb.EditsApplied(applied=not changed, changed=changed)
        return None


@asynccontextmanager
async def attached_window(
    server: Server,
    *folders: Path,
    name: str = "VS Code",
    capabilities: pb.EditorCapabilities = EVERYTHING,
) -> AsyncIterator[ScriptedWindow]:
    window = ScriptedWindow(server, name, [str(folder) for folder in folders], capabilities)
    attached = asyncio.Event()
    running = asyncio.create_task(window.run(attached))
    waiting = asyncio.create_task(attached.wait())
    try:
        async with asyncio.timeout(DEADLINE):
            await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        yield window
    finally:
        for task in (waiting, running):
            task.cancel()
        await asyncio.gather(waiting, running, return_exceptions=True)
