"""Runs commands for a session, in the client's terminal or in a local process.

A stopped command is killed with all its child processes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from portico.acp import _schema as schema
from portico.acp.agent import AgentSideConnection
from portico.domain.errors import InvalidInput
from portico.domain.provider_keys import without_provider_keys
from portico.porter.markdown import code_block
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.processes.tasks import silence_failure
from portico.project.plain_text import plain_text
from portico.rpc.messages import ConnectionLost, RpcError
from portico.rpc.streams import READ_SIZE
from portico.sandbox.wrapper import sandbox_wrapper

OUTPUT_LIMIT = 1024 * 1024
_SHOWN_TAIL = 8 * 1024
_SHOW_EVERY = 0.1
_LAST_CALL_SECONDS = 5.0
_GRACE = 2.0

Show = Callable[[schema.ToolCallContent], None]


class CommandResult(msgspec.Struct, frozen=True):
    """The exit status of a command, unless it is still running, and the end of its output."""

    exit_code: int | None
    signal: str | None
    output: str
    over: bool = True

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    def __str__(self) -> str:
        if self.signal is not None:
            return f"signal {self.signal}"
        return "an unknown exit code" if self.exit_code is None else f"exit code {self.exit_code}"

    def plain_output(self) -> str:
        """Return the output without escape sequences and overwritten lines."""
        return plain_text(self.output)


class RunningCommand(Protocol):
    """A started command. The caller must stop it."""

    async def wait(self) -> None:
        """Wait for its end. Raises InvalidInput if the terminal fails."""
        ...

    async def output_so_far(self) -> CommandResult:
        """Return the output so far, and the exit status if it has ended."""
        ...

    async def stop(self) -> None:
        """Kill it with all its child processes, if it still runs, and release it."""
        ...


class CommandRunner(Protocol):
    async def start(self, command: Sequence[str], cwd: Path, show: Show) -> RunningCommand:
        """Start a command. Raises InvalidInput if it cannot start."""
        ...


async def run_to_end(
    terminals: CommandRunner, command: Sequence[str], cwd: Path, show: Show
) -> CommandResult:
    """Run a command to its end. Raises InvalidInput if it cannot start."""
    running = await terminals.start(command, cwd, show)
    try:
        await running.wait()
        return await running.output_so_far()
    finally:
        await running.stop()


class ClientCommandRunner:
    """Runs commands in the client's terminals; the client shows the output."""

    def __init__(self, end: AgentSideConnection, session_id: str) -> None:
        self._end = end
        self._session_id = session_id

    async def start(self, command: Sequence[str], cwd: Path, show: Show) -> RunningCommand:
        request = schema.CreateTerminalRequest(
            session_id=self._session_id,
            command=command[0],
            args=list(command[1:]),
            cwd=str(cwd),
            output_byte_limit=OUTPUT_LIMIT,
        )
        creating = silence_failure(asyncio.ensure_future(self._end.create_terminal(request)))
        try:
            terminal_id = await asyncio.shield(creating)
        except asyncio.CancelledError:
            # The client may have started it already, so it must be stopped.
            started = await _last_call(creating)
            if started is not None:
                await ClientCommand(self._end, self._session_id, started).stop()
            raise
        except RpcError as error:
            raise InvalidInput(f"The client did not start the command: {error.reason}") from error
        show(schema.Terminal(terminal_id=terminal_id))
        return ClientCommand(self._end, self._session_id, terminal_id)


class ClientCommand:
    def __init__(self, end: AgentSideConnection, session_id: str, terminal_id: str) -> None:
        self._end = end
        self._session_id = session_id
        self._terminal_id = terminal_id
        self._status: schema.WaitForTerminalExitResponse | None = None

    async def wait(self) -> None:
        request = schema.WaitForTerminalExitRequest(
            session_id=self._session_id, terminal_id=self._terminal_id
        )
        try:
            self._status = await self._end.wait_for_terminal_exit(request)
        except RpcError as error:
            raise InvalidInput(f"The terminal failed: {error.reason}") from error

    async def output_so_far(self) -> CommandResult:
        request = schema.TerminalOutputRequest(session_id=self._session_id, terminal_id=self._terminal_id)
        try:
            shown = await self._end.terminal_output(request)
        except RpcError as error:
            raise InvalidInput(f"The terminal failed: {error.reason}") from error
        status = self._status or shown.exit_status
        if status is None:
            return CommandResult(None, None, shown.output, over=False)
        return CommandResult(status.exit_code, status.signal, shown.output)

    async def stop(self) -> None:
        if self._status is None:
            kill = schema.KillTerminalRequest(session_id=self._session_id, terminal_id=self._terminal_id)
            await _last_call(self._end.kill_terminal(kill))
        release = schema.ReleaseTerminalRequest(session_id=self._session_id, terminal_id=self._terminal_id)
        await _last_call(self._end.release_terminal(release))


class LocalCommandRunner:
    """Runs commands as local processes, for clients without terminals; shows the end of their output."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    async def start(self, command: Sequence[str], cwd: Path, show: Show) -> RunningCommand:
        try:
            group = await spawn(
                command,
                cwd=cwd,
                environ=without_provider_keys(self._environ),
                merged=True,
                wrapper=sandbox_wrapper(self._environ),
            )
        except CannotRun as error:
            raise InvalidInput(
                f"The command cannot be started: {error.reason}.", suggestion=error.suggestion
            ) from error
        return LocalCommand(group, show, name=command[0])


class LocalCommand:
    def __init__(self, group: ProcessGroup, show: Show, *, name: str) -> None:
        self._group = group
        self._show = show
        self._output = bytearray()
        self._over = False
        self._following = silence_failure(asyncio.create_task(self._follow(), name=f"output of {name}"))

    async def wait(self) -> None:
        await self._group.wait()
        await self._group.sweep()
        await asyncio.shield(self._following)
        self._over = True

    async def output_so_far(self) -> CommandResult:
        output = self._output.decode(errors="replace")
        over = self._over or not self._group.running
        return CommandResult(self._group.exit_code, self._group.signal, output, over=over)

    async def stop(self) -> None:
        self._following.cancel()
        await self._group.stop(_GRACE)
        await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self) -> None:
        clock = asyncio.get_running_loop().time
        shown_at, unshown = 0.0, False
        while True:
            patience = max(shown_at + _SHOW_EVERY - clock(), 0) if unshown else None
            try:
                async with asyncio.timeout(patience):
                    data = await self._group.stdout.read(READ_SIZE)
            except TimeoutError:
                data = None
            if data:
                self._output += data
                del self._output[:-OUTPUT_LIMIT]
                unshown = True
            if unshown and (not data or clock() >= shown_at + _SHOW_EVERY):
                self._show(output_block(self._output.decode(errors="replace")))
                shown_at, unshown = clock(), False
            if data == b"":
                return


def output_block(output: str) -> schema.ToolCallContent:
    """Return the end of a command's output as text, for clients without terminals."""
    ended = CommandResult(None, None, output[-_SHOWN_TAIL:]).plain_output()
    return schema.Content(content=schema.TextContent(text=code_block(ended)))


async def _last_call(call: Awaitable[str | None]) -> str | None:
    """Await a request to the client while stopping; None if the client is gone or does not answer."""
    try:
        async with asyncio.timeout(_LAST_CALL_SECONDS):
            return await call
    except (RpcError, ConnectionLost, TimeoutError):
        return None
