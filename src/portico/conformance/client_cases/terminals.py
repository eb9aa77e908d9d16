"""Cases about the terminals that a client lends to its agent. Their commands are Python programs of one line."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from portico.acp import _schema as schema
from portico.conformance.case import CaseList, Level, NotExercised, Violation
from portico.conformance.client_trial import SESSION, ClientConnection, ClientTrial, require
from portico.conformance.dialogue import RecordedAnswer

TERMINALS: CaseList[ClientTrial] = CaseList()

_LIMIT = 101
_HOLD = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"
_WAIT = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(.02)\nprint('went on')"


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-001", Level.CAPABILITY, "terminals#getting-output")
async def run_command(trial: ClientTrial) -> None:
    """A command runs in a terminal; its output and its exit code are reported."""
    connection = await _terminals(trial)
    terminal = await _create(connection, "print('conformance'); raise SystemExit(3)")
    ended = await _exit(connection, terminal)
    if ended.exit_code != 3:
        raise Violation(f"The exit code is {ended.exit_code} and not 3.")
    output = await _output(connection, terminal)
    if "conformance" not in output.output:
        raise Violation(f"The output is {output.output!r}.")
    if output.exit_status is None or output.exit_status.exit_code != 3:
        raise Violation("The output of a command that has ended has no exit status, or another one.")
    await _release(connection, terminal)


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-002", Level.CAPABILITY, "terminals#executing-commands")
async def run_as_asked(trial: ClientTrial) -> None:
    """Arguments, variables and folder of a command are those that were asked for."""
    connection = await _terminals(trial)
    folder = connection.folder / "a folder"
    folder.mkdir(exist_ok=True)
    terminal = await _create(
        connection,
        "import os, sys; print(os.environ['PORTICO_CASE'], sys.argv[1], os.path.basename(os.getcwd()))",
        "an argument",
        env=[schema.EnvVariable(name="PORTICO_CASE", value="a variable")],
        cwd=str(folder),
    )
    await _exit(connection, terminal)
    output = (await _output(connection, terminal)).output
    if "a variable an argument a folder" not in output:
        raise Violation(f"The output is {output!r}.")
    await _release(connection, terminal)


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-003", Level.CAPABILITY, "terminals#executing-commands")
async def create_at_once(trial: ClientTrial) -> None:
    """A terminal is there at once, and not only when its command has ended."""
    connection = await _terminals(trial)
    gate = connection.folder / f"gate-{len(trial.frames)}"
    terminal = await _create(connection, _WAIT, str(gate))
    running = await _output(connection, terminal)
    if running.exit_status is not None:
        raise Violation("A command that runs has an exit status.")
    waiting = connection.dialogue.start("terminal/wait_for_exit", _named(terminal))
    await connection.barrier()
    if waiting.done() and not waiting.result().failure:
        raise Violation("terminal/wait_for_exit was answered while the command was running.")
    gate.touch()
    await waiting
    if "went on" not in (await _output(connection, terminal)).output:
        raise Violation("The output does not have what the command printed at its end.")
    await _release(connection, terminal)


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-004", Level.CAPABILITY, "terminals#executing-commands")
async def keep_end_of_output(trial: ClientTrial) -> None:
    """`outputByteLimit` keeps the end of an output, in whole characters, and the output is called truncated."""
    connection = await _terminals(trial)
    program = "import sys; sys.stdout.buffer.write(('é' * 500 + 'end').encode())"
    terminal = await _create(connection, program, output_byte_limit=_LIMIT)
    await _exit(connection, terminal)
    output = await _output(connection, terminal)
    if not output.truncated:
        raise Violation("The output is not called truncated.")
    if len(output.output.encode()) > _LIMIT:
        raise Violation(f"The output has {len(output.output.encode())} bytes, more than {_LIMIT}.")
    if not output.output.endswith("éend") or output.output.strip("é") != "end":
        raise Violation(f"The output is {output.output!r}.")
    await _release(connection, terminal)


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-005", Level.CAPABILITY, "terminals#killing-commands")
async def kill_command(trial: ClientTrial) -> None:
    """A command that is killed ends, and its terminal can still be read until it is released."""
    connection = await _terminals(trial)
    terminal = await _create(connection, _WAIT, str(connection.folder / "never"))
    await connection.call("terminal/kill", _named(terminal), schema.KillTerminalResponse)
    await _exit(connection, terminal)
    await _output(connection, terminal)
    await _release(connection, terminal)


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-006", Level.CAPABILITY, "terminals#releasing-terminals")
async def release_terminal(trial: ClientTrial) -> None:
    """A terminal that was released ends its command, and its id is not valid any more."""
    connection = await _terminals(trial)
    async with _held_connection() as (port, held):
        terminal = await _create(connection, _HOLD, str(port))
        reader = await held
        await _release(connection, terminal)
        answer = await connection.request("terminal/output", _named(terminal))
        if not answer.failure:
            raise Violation("A terminal that was released can be read.", (answer.frame,))
        try:
            async with asyncio.timeout(trial.patience):
                await reader.read()
        except TimeoutError:
            raise Violation("The command of a terminal that was released still runs.") from None


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-007", Level.CAPABILITY, "terminals")
async def refuse_unknown_terminal(trial: ClientTrial) -> None:
    """A terminal that does not exist is answered with an error."""
    connection = await _terminals(trial)
    for method in ("terminal/output", "terminal/wait_for_exit", "terminal/kill"):
        _refused(await connection.request(method, _named("portico-unknown")))


@TERMINALS.add("PORTICO-CLIENT-TERMINALS-008", Level.MANDATORY, "terminals#checking-support")
async def refuse_terminals(trial: ClientTrial) -> None:
    """A client that does not announce terminals answers a request for one with an error."""
    connection = await trial.connect()
    if connection.capabilities.terminal:
        raise NotExercised("The client announces terminals.")
    _refused(await connection.request("terminal/create", _command("print(1)", ())))


@TERMINALS.add("PORTICO-CLIENT-ORDER-001", Level.CAPABILITY, "overview#communication-model")
async def answer_side_by_side(trial: ClientTrial) -> None:
    """A request that takes long does not keep a client from answering another one."""
    connection = await _terminals(trial)
    gate = connection.folder / f"gate-{len(trial.frames)}"
    terminal = await _create(connection, _WAIT, str(gate))
    waiting = connection.dialogue.start("terminal/wait_for_exit", _named(terminal))
    await _output(connection, terminal)
    gate.touch()
    await waiting
    await _release(connection, terminal)


@TERMINALS.add("PORTICO-CLIENT-REQUESTS-001", Level.CAPABILITY, "cancellation")
async def answer_cancelled_request(trial: ClientTrial) -> str:
    """A request that the agent cancels with `$/cancel_request` is answered all the same, at the latest when it ends."""
    connection = await _terminals(trial)
    gate = connection.folder / f"gate-{len(trial.frames)}"
    terminal = await _create(connection, _WAIT, str(gate))
    waiting = connection.dialogue.start("terminal/wait_for_exit", _named(terminal), "portico-cancelled")
    connection.dialogue.notify(
        "$/cancel_request", schema.CancelRequestNotification(request_id="portico-cancelled")
    )
    await connection.barrier()
    early = waiting.done()
    gate.touch()
    answer = await waiting
    await _release(connection, terminal)
    return f"It was answered {'at once' if early else 'when it ended'}: {answer.failure or 'a result'}."


@asynccontextmanager
async def _held_connection() -> "AsyncIterator[tuple[int, asyncio.Future[asyncio.StreamReader]]]":
    """A port that a command connects to; the connection ends with the command."""
    held: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()
    writers = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        held.set_result(reader)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], held
    finally:
        server.close()
        for writer in writers:
            writer.close()


async def _terminals(trial: ClientTrial) -> ClientConnection:
    connection = await trial.connect()
    require(connection.capabilities.terminal, "terminal")
    return connection


def _command(program: str, words: tuple[str, ...], **more: Any) -> schema.CreateTerminalRequest:
    return schema.CreateTerminalRequest(
        session_id=SESSION, command=sys.executable, args=["-c", program, *words], **more
    )


async def _create(connection: ClientConnection, program: str, *words: str, **more: Any) -> str:
    request = _command(program, words, **more)
    return (await connection.call("terminal/create", request, schema.CreateTerminalResponse)).terminal_id


def _named(terminal: str) -> schema.TerminalOutputRequest:
    return schema.TerminalOutputRequest(session_id=SESSION, terminal_id=terminal)


async def _output(connection: ClientConnection, terminal: str) -> schema.TerminalOutputResponse:
    return await connection.call("terminal/output", _named(terminal), schema.TerminalOutputResponse)


async def _exit(connection: ClientConnection, terminal: str) -> schema.WaitForTerminalExitResponse:
    method = "terminal/wait_for_exit"
    return await connection.call(method, _named(terminal), schema.WaitForTerminalExitResponse)


async def _release(connection: ClientConnection, terminal: str) -> None:
    await connection.call("terminal/release", _named(terminal), schema.ReleaseTerminalResponse)


def _refused(answer: RecordedAnswer) -> None:
    if not answer.failure:
        raise Violation("The request succeeded.", (answer.frame,))
