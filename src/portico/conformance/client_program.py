"""The client under test: a command that speaks ACP on its standard streams, or that starts an agent of its choice.

For the second kind the kit writes a small program into the folder of the trial, whose path is the agent's command.
"""

import asyncio
import os
import secrets
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from portico.conformance.case import Blocked
from portico.processes import stdio_shim
from portico.processes.pipe_reader import PipeReader
from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.streams import READ_SIZE, ByteStream, PipeStream

AGENT = "{agent}"
PROMPT = "{prompt}"
SCRIPT = "{script}"
FOLDER = "{folder}"
_TAIL = 64 * 1024
_STOP_SECONDS = 2.0
_TOKEN_SECONDS = 10.0


class DrivenTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn that the client is asked for."""

    prompt: str
    cancel: bool = False
    """Whether to answer no permission request of the turn, and to cancel it at its first update."""


class RunningClient(Protocol):
    @property
    def folder(self) -> Path:
        """The absolute folder that the client works in, its own."""
        ...

    @property
    def stream(self) -> ByteStream:
        """Frames that the client's agent reads and writes."""
        ...

    def output(self) -> str:
        """End of the client's output for people."""
        ...

    def stderr_tail(self) -> str: ...

    def cancel(self) -> None:
        """Have the client cancel its turn, unless its script says so anyway."""
        ...

    async def wait(self) -> str:
        """Until the client is gone; how it ended."""
        ...

    async def stop(self, *, kill: bool = False) -> None: ...


class ClientSubject(Protocol):
    @property
    def can_cancel(self) -> bool:
        """Whether the client can be told to cancel a turn."""
        ...

    async def start(self, turns: Sequence[DrivenTurn]) -> RunningClient: ...


class ClientProgram:
    """A command with placeholders. Each run of it has a folder of its own beneath that of the trial."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        trial_folder: Path,
        cancel_signal: str | None = None,
    ) -> None:
        # The program runs in another folder than the one that its words are about.
        self._command = tuple(
            str(Path(word).absolute()) if Path(word).is_file() else word for word in command
        )
        self._environ = environ
        self._trial_folder = trial_folder
        self._cancel_signal = cancel_signal
        self._starts = 0
        self._starts_agent = any(AGENT in word for word in command)
        self._has_script = any(SCRIPT in word for word in command)

    @property
    def can_cancel(self) -> bool:
        return self._has_script or self._cancel_signal is not None

    async def start(self, turns: Sequence[DrivenTurn]) -> "RunningClientProgram":
        """CannotRun when the command cannot be started, Blocked when it starts no agent."""
        self._starts += 1
        folder = self._trial_folder / f"run-{self._starts}"
        folder.mkdir()
        script = self._trial_folder / f"script-{self._starts}.json"
        script.write_bytes(msgspec.json.encode(list(turns)))
        socket = AgentSocket(self._trial_folder, self._starts) if self._starts_agent else None
        agent = await socket.open() if socket is not None else ""
        values = {AGENT: agent, PROMPT: turns[0].prompt, SCRIPT: str(script), FOLDER: str(folder)}
        words = [_fill(word, values) for word in self._command]
        group = await spawn(words, cwd=folder, environ=self._environ)
        running = RunningClientProgram(group, folder, socket, self._cancel_signal)
        try:
            await running.connect()
        except BaseException:
            await running.stop(kill=True)
            raise
        return running


class AgentSocket:
    """Listener for the relay of one client: a loopback port that requires a token."""

    def __init__(self, folder: Path, number: int) -> None:
        self.connected: asyncio.Future[ByteStream] = asyncio.get_running_loop().create_future()
        self._launcher = folder / (f"agent-{number}.cmd" if sys.platform == "win32" else f"agent-{number}")
        self._token = secrets.token_hex(16)
        self._server: asyncio.Server | None = None

    async def open(self) -> str:
        """Listen, and write the program that the client starts as its agent; its path."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=READ_SIZE)
        port = self._server.sockets[0].getsockname()[1]
        words = (
            sys.executable,
            "-I",
            "-S",
            stdio_shim.__file__,
            f"{stdio_shim.TCP}127.0.0.1:{port}",
            self._token,
        )
        if sys.platform == "win32":
            self._launcher.write_text("@" + " ".join(f'"{word}"' for word in words) + "\n")
        else:
            self._launcher.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n", encoding="utf-8")
            self._launcher.chmod(0o700)
        return str(self._launcher)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            async with asyncio.timeout(_TOKEN_SECONDS):
                token = (await reader.readuntil(b"\n")).decode(errors="replace").strip()
            if secrets.compare_digest(token, self._token) and not self.connected.done():
                self.connected.set_result(PipeStream(reader, writer))
                return
        writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self.connected.done() and not self.connected.cancelled():
            await self.connected.result().close()


class RunningClientProgram:
    def __init__(
        self, group: ProcessGroup, folder: Path, socket: AgentSocket | None, cancel_signal: str | None
    ) -> None:
        assert group.stdin is not None
        assert group.stderr is not None
        self.folder = folder
        self._group = group
        self._socket = socket
        self._cancel_signal = cancel_signal
        self.stream: ByteStream = PipeStream(group.stdout, group.stdin)
        self._tails = {"stdout": b"", "stderr": b""}
        self._reading = [asyncio.create_task(self._read("stderr", group.stderr), name="standard error")]
        if socket is not None:
            self._reading.append(asyncio.create_task(self._read("stdout", group.stdout), name="output"))

    async def connect(self) -> None:
        """Wait until the client has started its agent."""
        if self._socket is None:
            return
        ending = asyncio.create_task(self._group.wait(), name="end of the client")
        either: set[asyncio.Future[Any]] = {ending, self._socket.connected}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._socket.connected.done():
            last = (self.stderr_tail() or self.output()).strip().splitlines()[-1:]
            raise Blocked("; ".join([f"The client started no agent and ended with {ending.result()}", *last]))
        ending.cancel()
        self.stream = self._socket.connected.result()

    def output(self) -> str:
        return self._tails["stdout"].decode("utf-8", "replace")

    def stderr_tail(self) -> str:
        return self._tails["stderr"].decode("utf-8", "replace")

    def cancel(self) -> None:
        if self._cancel_signal is not None and self._group.running:
            os.kill(self._group.pid, signal.Signals[self._cancel_signal])

    async def wait(self) -> str:
        return await self._group.wait()

    async def stop(self, *, kill: bool = False) -> None:
        if self._socket is not None:
            await self._socket.close()
        await self._group.stop(0 if kill else _STOP_SECONDS)
        await asyncio.gather(*self._reading)

    async def _read(self, name: str, reader: PipeReader) -> None:
        while chunk := await reader.read(READ_SIZE):
            self._tails[name] = (self._tails[name] + chunk)[-_TAIL:]


def _fill(word: str, values: Mapping[str, str]) -> str:
    for placeholder, value in values.items():
        word = word.replace(placeholder, value)
    return word
