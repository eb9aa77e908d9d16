"""A client for Porter as editors are: real files, real processes, and a person who answers questions."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil
from msgspec import Raw

from portico.acp import _schema as schema
from portico.acp.client import ClientSideConnection
from portico.acp.connection import RESOURCE_NOT_FOUND, MethodHandler
from portico.porter.agent import Porter
from portico.porter.setup import SetupReader, empty_setup
from portico.rpc.messages import Fault, RpcError
from portico.rpc.streams import ByteStream, memory_pair

DEADLINE = 20.0

Result = TypeVar("Result")
Answer = Callable[[schema.RequestPermissionRequest], str]


def allow(request: schema.RequestPermissionRequest) -> str:
    return "allow-once"


def allow_for_session(request: schema.RequestPermissionRequest) -> str:
    return "allow-always"


def reject(request: schema.RequestPermissionRequest) -> str:
    return "reject-once"


class Terminal:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = bytearray()
        self.reading = asyncio.create_task(self._read())
        self.killed = False
        self.released = False

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(65536):
            self.output += data

    async def end(self) -> tuple[int | None, str | None]:
        await asyncio.wait({self.reading})
        code = await self.process.wait()
        return (code, None) if code >= 0 else (None, signal.Signals(-code).name)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Client:
    """Talks to Porter and keeps what it hears. `answer` is what the person says to a question."""

    def __init__(
        self, stream: ByteStream, *, files: bool, terminals: bool, elicitation: bool = False
    ) -> None:
        self.answer: Answer = allow
        self.elicited: list[schema.CreateElicitationRequest] = []
        self.reply: dict[str, schema.ElicitationContentValue] | None = None
        self.questions: list[schema.RequestPermissionRequest] = []
        self.opened: list[str] = []
        self.heard: list[tuple[str, schema.SessionUpdate]] = []
        self.faults: list[Fault] = []
        self.strange: list[Raw] = []
        self.written: list[str] = []
        self.read: list[schema.ReadTextFileRequest] = []
        self.terminals: dict[str, Terminal] = {}
        self.hold_questions = asyncio.Event()
        self.hold_questions.set()
        self.hold_terminals = asyncio.Event()
        self.hold_terminals.set()
        self._changed = asyncio.Event()
        serve: dict[str, MethodHandler] = {"session/request_permission": self._asked}
        if elicitation:
            serve["elicitation/create"] = self._elicit
        if files:
            serve |= {"fs/read_text_file": self._read, "fs/write_text_file": self._write}
        if terminals:
            serve |= {
                "terminal/create": self._create,
                "terminal/output": self._output,
                "terminal/wait_for_exit": self._wait,
                "terminal/kill": self._kill,
                "terminal/release": self._release,
            }
        self.capabilities = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=files, write_text_file=files),
            terminal=terminals,
            elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
            if elicitation
            else None,
        )
        self.end = ClientSideConnection(stream, self, name="porter", serve=serve)

    # What a person does.

    async def open(
        self,
        folder: Path,
        *directories: Path,
        servers: Sequence[schema.McpServer] = (),
        meta: dict[str, Any] | None = None,
    ) -> str:
        request = schema.NewSessionRequest(
            cwd=str(folder),
            mcp_servers=list(servers),
            additional_directories=[str(one) for one in directories],
            meta=meta,
        )
        return (await self.end.new_session(request, self.opened.append)).session_id

    async def prompt(self, session_id: str, text: str, *blocks: schema.ContentBlock) -> schema.StopReason:
        request = schema.PromptRequest(session_id=session_id, prompt=[schema.TextContent(text=text), *blocks])
        async with asyncio.timeout(DEADLINE):
            return (await self.end.prompt(request)).stop_reason

    @asynccontextmanager
    async def in_background(self, work: Coroutine[Any, Any, Result]) -> AsyncIterator[asyncio.Task[Result]]:
        """Something that goes on while the test does something else. It ends with the block at the latest."""
        task = asyncio.create_task(work)
        try:
            async with asyncio.timeout(DEADLINE):
                yield task
        finally:
            task.cancel()
            await asyncio.wait({task})

    def turn(
        self, session_id: str, text: str
    ) -> AbstractAsyncContextManager["asyncio.Task[schema.StopReason]"]:
        """A prompt that is being answered while the test goes on."""
        return self.in_background(self.prompt(session_id, text))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something that a message from Porter brings about."""
        async with asyncio.timeout(DEADLINE):
            while not happened():
                self._changed.clear()
                await self._changed.wait()

    # What was heard.

    def updates(self, kind: type[Any]) -> list[Any]:
        return [update for _, update in self.heard if isinstance(update, kind)]

    @property
    def text(self) -> str:
        return "".join(chunk.content.text for chunk in self.updates(schema.AgentMessageChunk))

    @property
    def calls(self) -> list[schema.ToolCall]:
        return self.updates(schema.ToolCall)

    def statuses(self, call: schema.ToolCall) -> list[str]:
        """Every status that a call had, in order."""
        later = [
            one for one in self.updates(schema.ToolCallProgress) if one.tool_call_id == call.tool_call_id
        ]
        return [call.status, *(one.status for one in later if one.status is not None)]

    def content(self, call: schema.ToolCall) -> list[schema.ToolCallContent]:
        """Final content of a call."""
        shown = list(call.content)
        for update in self.updates(schema.ToolCallProgress):
            if update.tool_call_id == call.tool_call_id and update.content is not None:
                shown = update.content
        return shown

    def shown(self, call: schema.ToolCall) -> str:
        """The text that a call shows last, without the fence around it."""
        texts = [
            part.content.text
            for part in self.content(call)
            if isinstance(part, schema.Content) and isinstance(part.content, schema.TextContent)
        ]
        return texts[-1].strip("`\n") if texts else ""

    def forget(self) -> None:
        self.heard.clear()
        self.questions.clear()

    # What the connection asks of a listener.

    def update(self, session_id: str, update: schema.SessionUpdate) -> None:
        self.heard.append((session_id, update))
        self._changed.set()

    def unknown_update(self, session_id: str, raw: Raw) -> None:
        self.strange.append(raw)

    def notified(self, method: str, params: Raw) -> None:
        """Porter sends no notifications but updates."""
        raise AssertionError(method)

    def fault(self, fault: Fault) -> None:
        self.faults.append(fault)

    async def ready(self) -> None: ...

    # What an editor does for an agent.

    async def _asked(self, request: schema.RequestPermissionRequest) -> schema.RequestPermissionResponse:
        self.questions.append(request)
        self._changed.set()
        await self.hold_questions.wait()
        choice = self.answer(request)
        if choice == "cancelled":
            return schema.RequestPermissionResponse(outcome=schema.CancelledPermissionOutcome())
        return schema.RequestPermissionResponse(outcome=schema.SelectedPermissionOutcome(option_id=choice))

    async def _elicit(self, request: schema.CreateElicitationRequest) -> schema.CreateElicitationResponse:
        self.elicited.append(request)
        if self.reply is None:
            return schema.CreateElicitationResponse(action="decline")
        return schema.CreateElicitationResponse(action="accept", content=self.reply)

    async def _read(self, request: schema.ReadTextFileRequest) -> schema.ReadTextFileResponse:
        self.read.append(request)
        try:
            text = (await asyncio.to_thread(Path(request.path).read_bytes)).decode()
        except FileNotFoundError as error:
            raise RpcError(RESOURCE_NOT_FOUND, "no such file") from error
        except (OSError, UnicodeDecodeError) as error:
            raise RpcError(-32603, str(error)) from error
        lines = text.splitlines(keepends=True)[(request.line or 1) - 1 :]
        return schema.ReadTextFileResponse(
            content="".join(lines if request.limit is None else lines[: request.limit])
        )

    async def _write(self, request: schema.WriteTextFileRequest) -> schema.WriteTextFileResponse:
        try:
            await asyncio.to_thread(Path(request.path).write_bytes, request.content.encode())
        except OSError as error:
            raise RpcError(-32603, str(error)) from error
        self.written.append(request.path)
        return schema.WriteTextFileResponse()

    async def _create(self, request: schema.CreateTerminalRequest) -> schema.CreateTerminalResponse:
        await self.hold_terminals.wait()
        try:
            process = await asyncio.create_subprocess_exec(
                request.command,
                *request.args,
                cwd=request.cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise RpcError(-32603, str(error)) from error
        terminal_id = f"terminal-{len(self.terminals) + 1}"
        self.terminals[terminal_id] = Terminal(process)
        self._changed.set()
        return schema.CreateTerminalResponse(terminal_id=terminal_id)

    async def _output(self, request: schema.TerminalOutputRequest) -> schema.TerminalOutputResponse:
        output = self.terminals[request.terminal_id].output.decode(errors="replace")
        return schema.TerminalOutputResponse(output=output, truncated=False)

    async def _wait(self, request: schema.WaitForTerminalExitRequest) -> schema.WaitForTerminalExitResponse:
        code, name = await self.terminals[request.terminal_id].end()
        return schema.WaitForTerminalExitResponse(exit_code=code, signal=name)

    async def _kill(self, request: schema.KillTerminalRequest) -> schema.KillTerminalResponse:
        terminal = self.terminals[request.terminal_id]
        terminal.killed = True
        terminal.kill()
        return schema.KillTerminalResponse()

    async def _release(self, request: schema.ReleaseTerminalRequest) -> schema.ReleaseTerminalResponse:
        terminal = self.terminals[request.terminal_id]
        terminal.released = True
        terminal.kill()
        await terminal.end()
        return schema.ReleaseTerminalResponse()


def lives(pid: int) -> bool:
    """Whether a process still runs; dead ones that are not collected stay listed."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@asynccontextmanager
async def connected(
    state: Path,
    *,
    files: bool = True,
    terminals: bool = True,
    environ: Mapping[str, str] | None = None,
    setup_of: SetupReader = empty_setup,
    elicitation: bool = False,
) -> AsyncIterator[Client]:
    """A client that has initialized a Porter of its own, which ends with it."""
    near, far = memory_pair()
    given = dict(os.environ if environ is None else environ)
    porter = Porter(far, state=state, environ=given, setup_of=setup_of)
    client = Client(near, files=files, terminals=terminals, elicitation=elicitation)
    serving = asyncio.create_task(porter.run())
    try:
        async with introduced(client):
            yield client
    finally:
        async with asyncio.timeout(DEADLINE):
            await serving


@asynccontextmanager
async def introduced(client: Client) -> AsyncIterator[None]:
    """The life of a client's end: it initializes, listens, and in the end has nothing to complain of."""
    listening = asyncio.create_task(client.end.run())
    try:
        async with asyncio.timeout(DEADLINE):
            await client.end.initialize(
                schema.InitializeRequest(protocol_version=1, client_capabilities=client.capabilities)
            )
        yield
    finally:
        await client.end.close()
        async with asyncio.timeout(DEADLINE):
            await listening
        for terminal in client.terminals.values():
            terminal.kill()
            await terminal.end()
    assert client.faults == []
    assert client.strange == []
