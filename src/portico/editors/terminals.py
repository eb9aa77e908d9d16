"""Runs commands for an agent on this machine, each in its own process group.

These are not real terminals: a command has no input, and its output and error output are merged.
"""

import asyncio
import codecs
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.domain.provider_keys import without_provider_keys
from portico.domain.values import TerminalOutput
from portico.editors.path_guard import PathGuard
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.streams import READ_SIZE
from portico.sessions.ports import TerminalListener, TerminalRequest, TerminalSnapshot


class OutputTail:
    """Decodes output incrementally, and keeps the end of it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.truncated = False

    def add(self, data: bytes) -> str:
        """The text of these bytes, with the start of an incomplete character before them."""
        return self._keep(self._decoder.decode(data))

    def finish(self) -> str:
        """The text of an incomplete last character."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return self._keep(text)

    @property
    def text(self) -> str:
        return self._kept.decode()

    def _keep(self, text: str) -> str:
        self._kept += text.encode()
        surplus = len(self._kept) - self._limit
        if surplus > 0:
            while surplus < len(self._kept) and self._kept[surplus] & 0xC0 == 0x80:
                surplus += 1
            del self._kept[:surplus]
            self.truncated = True
        return text


DEFAULT_OUTPUT_BYTES = 1024 * 1024
MOST_OUTPUT_BYTES = 8 * 1024 * 1024
KILL_GRACE_SECONDS = 2.0
_LINGER_SECONDS = 0.5
_OWN_VARIABLES = "PORTICO_"
_PLAIN_PROGRAM = re.compile(r"[\w@%+:,./\\-]+")


class HostTerminals:
    """Commands of one session. `wrapper` is the prefix that confines them."""

    def __init__(
        self,
        workspace: Path,
        environ: Mapping[str, str],
        wrapper: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._wrapper = wrapper
        self._guard = PathGuard(workspace)
        inherited = without_provider_keys(environ)
        self._environ = {
            name: text for name, text in inherited.items() if not name.startswith(_OWN_VARIABLES)
        }
        self._terminals: dict[str, _Terminal] = {}

    async def create(self, request: TerminalRequest, listener: TerminalListener) -> str:
        cwd = self._guard.resolve(request.cwd or ".")
        command = await asyncio.to_thread(_command_line, request, cwd)
        try:
            group = await spawn(
                command,
                cwd=cwd,
                environ={**self._environ, **request.env},
                merged=True,
                wrapper=self._wrapper(),
            )
        except CannotRun as error:
            raise InvalidInput(
                f"The command cannot be run: {error.reason}.", suggestion=error.suggestion
            ) from error
        wanted = DEFAULT_OUTPUT_BYTES if request.output_byte_limit is None else request.output_byte_limit
        limit = min(wanted, MOST_OUTPUT_BYTES)
        terminal = _Terminal(f"term_{secrets.token_hex(6)}", group, OutputTail(limit), listener)
        terminal.follow()
        self._terminals[terminal.id] = terminal
        return terminal.id

    def snapshot(self, terminal_id: str) -> TerminalSnapshot:
        return self._get(terminal_id).snapshot()

    async def wait(self, terminal_id: str) -> TerminalSnapshot:
        terminal = self._get(terminal_id)
        await terminal.ended.wait()
        return terminal.snapshot()

    async def kill(self, terminal_id: str) -> None:
        """End the command; what it printed stays readable until the terminal is released."""
        await self._get(terminal_id).stop()

    async def release(self, terminal_id: str) -> None:
        terminal = self._get(terminal_id)
        del self._terminals[terminal_id]
        await terminal.stop()

    async def close(self) -> None:
        await asyncio.gather(*(self.release(terminal_id) for terminal_id in list(self._terminals)))

    def _get(self, terminal_id: str) -> "_Terminal":
        try:
            return self._terminals[terminal_id]
        except KeyError:
            raise InvalidInput(f"There is no terminal {terminal_id}; it may have been released.") from None


class _Terminal:
    """One command, whose output goes to a listener and is kept in part."""

    def __init__(
        self, terminal_id: str, group: ProcessGroup, tail: OutputTail, listener: TerminalListener
    ) -> None:
        self.id = terminal_id
        self.ended = asyncio.Event()
        self._group = group
        self._tail = tail
        self._listener = listener
        self._following: asyncio.Task[None] | None = None

    def follow(self) -> None:
        self._following = asyncio.create_task(self._follow(), name=f"terminal {self.id}")

    def snapshot(self) -> TerminalSnapshot:
        ended = self.ended.is_set()
        return TerminalSnapshot(
            output=self._tail.text,
            truncated=self._tail.truncated,
            ended=ended,
            exit_code=self._group.exit_code if ended else None,
            signal=self._group.signal if ended else None,
        )

    async def stop(self) -> None:
        await self._group.stop(KILL_GRACE_SECONDS)
        assert self._following is not None
        await asyncio.shield(self._following)

    async def _follow(self) -> None:
        reading = asyncio.create_task(self._read(), name=f"output of terminal {self.id}")
        try:
            await self._group.wait()
            # Background processes of the command may keep its output open, but do not delay its end.
            await asyncio.wait({reading}, timeout=_LINGER_SECONDS)
            self._finish()
            await reading
        finally:
            self.ended.set()
            reading.cancel()

    async def _read(self) -> None:
        while data := await self._group.stdout.read(READ_SIZE):
            text = self._tail.add(data)
            if text and not self.ended.is_set():
                self._listener(TerminalOutput(terminal_id=self.id, text=text))

    def _finish(self) -> None:
        text = self._tail.finish()
        self.ended.set()
        self._listener(
            TerminalOutput(
                terminal_id=self.id,
                text=text,
                exit_code=self._group.exit_code,
                signal=self._group.signal,
                ended=True,
            )
        )


def _command_line(request: TerminalRequest, cwd: Path) -> tuple[str, ...]:
    """The program and its arguments, or a shell for a command line."""
    command = request.command
    if not command.strip():
        raise InvalidInput("The command is empty.")
    if request.args or _PLAIN_PROGRAM.fullmatch(command) or _is_path(command, cwd):
        return (command, *request.args)
    shell = ("cmd.exe", "/d", "/s", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    return (*shell, command)


def _is_path(command: str, cwd: Path) -> bool:
    """Whether the whole command is the path of a file."""
    try:
        return "/" in command and (cwd / command).is_file()
    except (OSError, ValueError):
        return False
