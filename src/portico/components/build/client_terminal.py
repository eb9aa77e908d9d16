"""A command in a terminal of the client, after the person has agreed to it, as agents run theirs.

So rules, grants and the sandbox of the session hold for it, and every door shows it.
"""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.components.permission import request_permission
from portico.conductor.proxy import Proxy
from portico.mcp.tools import ToolFailure
from portico.rpc.messages import METHOD_NOT_FOUND, RpcError

OUTPUT_LIMIT = 4 * 1024 * 1024
# Python recognises a changed file by its size and the second of its change. After two edits within a second, a test
# would run the bytecode of the first.
_NO_BYTECODE = acp.EnvVariable(name="PYTHONDONTWRITEBYTECODE", value="1")
_LAST_CALL_SECONDS = 5.0
_ALLOW = "run"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Run it", kind="allow_once"),
    acp.PermissionOption(option_id="leave", name="Do not run it", kind="reject_once"),
]


class TerminalCommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run; `line` is how a person reads it."""

    session_id: str
    command: Sequence[str]
    line: str
    cwd: str
    seconds: float


class FinishedCommand(msgspec.Struct, frozen=True):
    """`exit_code` and `signal` are None for a command that was stopped at its time limit."""

    output: str
    truncated: bool
    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    @property
    def ending(self) -> str:
        if self.timed_out:
            return "stopped at its time limit"
        return f"signal {self.signal}" if self.signal else f"exit code {self.exit_code}"


async def permit_command(proxy: Proxy, line: TerminalCommandLine) -> None:
    """Returns when the person agrees. ToolFailure, for the model, if not."""
    call = acp.ToolCallUpdate(
        tool_call_id=f"portico-build-{secrets.token_hex(8)}",
        title=line.line,
        kind="execute",
        raw_input={"command": line.line, "cwd": line.cwd},
    )
    question = acp.RequestPermissionRequest(session_id=line.session_id, tool_call=call, options=_OPTIONS)
    if await request_permission(proxy.node, question) != _ALLOW:
        raise ToolFailure(
            "The person did not agree, so the command was not run. Continue without it, or ask why."
        )


async def run_in_terminal(proxy: Proxy, line: TerminalCommandLine) -> FinishedCommand:
    """Run a permitted command to its end, or to its time limit. It is killed with all its children if cancelled."""
    creating = asyncio.ensure_future(_create(proxy, line))
    try:
        terminal_id = await asyncio.shield(creating)
    except asyncio.CancelledError:
        # The client may have started it already, so it must be stopped.
        await _last_call(_stop_created(proxy, line, creating))
        raise
    named = {"sessionId": line.session_id, "terminalId": terminal_id}
    ended = False
    try:
        status: acp.WaitForTerminalExitResponse | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(line.seconds):
                status = decode(
                    await _ask(proxy, "terminal/wait_for_exit", named), acp.WaitForTerminalExitResponse
                )
                ended = True
        shown = decode(await _ask(proxy, "terminal/output", named), acp.TerminalOutputResponse)
        if status is None:
            return FinishedCommand(shown.output, shown.truncated, timed_out=True)
        return FinishedCommand(shown.output, shown.truncated, status.exit_code, status.signal)
    except msgspec.DecodeError as error:
        raise ToolFailure(f"The editor's terminal sent an invalid response: {error}") from error
    finally:
        await asyncio.shield(_stop(proxy, named, kill=not ended))


async def _create(proxy: Proxy, line: TerminalCommandLine) -> str:
    request = acp.CreateTerminalRequest(
        session_id=line.session_id,
        command=line.command[0],
        args=list(line.command[1:]),
        env=[_NO_BYTECODE],
        cwd=line.cwd,
        output_byte_limit=OUTPUT_LIMIT,
    )
    try:
        return decode(
            await proxy.ask_client("terminal/create", request), acp.CreateTerminalResponse
        ).terminal_id
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND:
            raise ToolFailure(
                f"The editor has no terminals. Run it with your own tools: {line.line}"
            ) from error
        raise ToolFailure(f"The command was not started: {error.reason}") from error
    except msgspec.DecodeError as error:
        raise ToolFailure("The command was not started: the editor named no terminal.") from error


async def _ask(proxy: Proxy, method: str, named: dict[str, str]) -> msgspec.Raw:
    try:
        return await proxy.ask_client(method, named)
    except RpcError as error:
        raise ToolFailure(f"The terminal failed: {error.reason}") from error


async def _stop_created(proxy: Proxy, line: TerminalCommandLine, creating: "asyncio.Future[str]") -> None:
    with suppress(ToolFailure):
        await _stop(proxy, {"sessionId": line.session_id, "terminalId": await creating}, kill=True)


async def _stop(proxy: Proxy, named: dict[str, str], *, kill: bool) -> None:
    for method in ("terminal/kill", "terminal/release") if kill else ("terminal/release",):
        with suppress(ToolFailure):
            await _last_call(_ask(proxy, method, named))


async def _last_call(call: Any) -> None:
    """Await a request while stopping; a client that does not answer is left alone."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_CALL_SECONDS):
            await call
