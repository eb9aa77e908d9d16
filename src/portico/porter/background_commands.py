"""Commands that run in the background of a session, started and read by tools."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from portico.acp import _schema as schema
from portico.domain.errors import InvalidInput
from portico.porter.terminals import CommandResult, CommandRunner, RunningCommand

MOST = 8
_LOOK_EVERY = 0.1


class BackgroundCommands:
    def __init__(self, terminals: CommandRunner) -> None:
        self._terminals = terminals
        self._running: dict[str, tuple[str, RunningCommand]] = {}
        self._seen: dict[str, str] = {}
        self._started = 0

    async def start(self, command: Sequence[str], line: str, cwd: Path) -> str:
        """Start a command and return its name. Raises InvalidInput if too many run, or it cannot start."""
        if len(self._running) >= MOST:
            raise InvalidInput(
                f"Already {MOST} commands run in the background. Stop one first: {self.names}."
            )
        running = await self._terminals.start(command, cwd, _not_shown)
        self._started += 1
        name = f"command-{self._started}"
        self._running[name] = (line, running)
        return name

    @property
    def names(self) -> str:
        return ", ".join(f"{name} ({line[:60]})" for name, (line, _) in self._running.items()) or "none"

    async def look(self, name: str, *, patience: float = 0) -> CommandResult:
        """Return the output so far and the exit status, if any. Waits up to `patience` seconds for new output."""
        _, running = self._find(name)
        clock = asyncio.get_running_loop().time
        until = clock() + patience
        while True:
            now = await running.output_so_far()
            if now.over or now.output != self._seen.get(name, "") or clock() >= until:
                self._seen[name] = now.output
                return now
            await asyncio.sleep(_LOOK_EVERY)

    async def stop(self, name: str) -> CommandResult:
        """Stop a command and return its output."""
        _, running = self._find(name)
        try:
            return await running.output_so_far()
        finally:
            self._running.pop(name, None)
            self._seen.pop(name, None)
            await running.stop()

    async def close(self) -> None:
        while self._running:
            _, (_, running) = self._running.popitem()
            await running.stop()

    def _find(self, name: str) -> tuple[str, RunningCommand]:
        try:
            return self._running[name]
        except KeyError as error:
            raise InvalidInput(
                f"No command {name!r} runs in the background. Running: {self.names}."
            ) from error


def _not_shown(content: schema.ToolCallContent) -> None:
    """Ignore output as it arrives; the tools read it on demand."""
