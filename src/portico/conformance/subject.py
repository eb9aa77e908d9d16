"""The program under test: started for each connection, confined to its process group, ended with all it started."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.streams import ByteStream, PipeStream

_STDERR_TAIL = 4000
_STOP_SECONDS = 2.0


class RunningSubject(Protocol):
    @property
    def stream(self) -> ByteStream: ...

    @property
    def stderr_size(self) -> int:
        """Number of bytes that it wrote to standard error."""
        ...

    def stderr_tail(self) -> str: ...

    async def wait(self) -> str:
        """Until the program is gone; how it ended."""
        ...

    async def stop(self, *, kill: bool = False) -> None: ...


class Subject(Protocol):
    async def start(self) -> RunningSubject: ...


class RunningProgram:
    def __init__(self, group: ProcessGroup) -> None:
        assert group.stdin is not None
        self._group = group
        self.stream: ByteStream = PipeStream(group.stdout, group.stdin)
        self.stderr_size = 0
        self._tail = b""
        self._reading = asyncio.create_task(
            self._read_stderr(), name="standard error of the program under test"
        )

    def stderr_tail(self) -> str:
        return self._tail.decode("utf-8", "replace")

    async def wait(self) -> str:
        return await self._group.wait()

    async def stop(self, *, kill: bool = False) -> None:
        await self._group.stop(0 if kill else _STOP_SECONDS)
        await self._reading

    async def _read_stderr(self) -> None:
        reader = self._group.stderr
        while reader is not None and (chunk := await reader.read(_STDERR_TAIL)):
            self.stderr_size += len(chunk)
            self._tail = (self._tail + chunk)[-_STDERR_TAIL:]


class Program:
    """A command, run in a folder."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._command = tuple(command)
        self._folder = folder
        self._environ = environ

    async def start(self) -> RunningProgram:
        """CannotRun when the command cannot be started."""
        return RunningProgram(await spawn(self._command, cwd=self._folder, environ=self._environ))
