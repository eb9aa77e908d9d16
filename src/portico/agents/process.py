"""Runs agents as local processes, one process group each, and keeps the end of their stderr."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from portico.agents.sandbox_policy import AppliedSandbox, SandboxPolicy
from portico.domain.errors import AgentNotFound, ErrorDetails
from portico.domain.provider_keys import STORE_VARIABLE, without_provider_keys
from portico.domain.values import SandboxStatus
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.processes.relocation import relocated_command, relocated_environ
from portico.rpc.streams import READ_SIZE, ByteStream, PipeStream
from portico.sessions.ports import AgentSpec

STDERR_TAIL_BYTES = 8 * 1024
_LAST_WORDS_SECONDS = 0.5
# Exit codes of a shell that could not start a program.
_SHELL_EXIT_CODES = {126: "a program could not be executed", 127: "a program was not found"}

_ESCAPE_SEQUENCE = re.compile(
    r"""
    \x1b (?: \[ [0-?]* [ -/]* [@-~]                 # colours, cursor movements
           | [\]PX^_] .*? (?: \x07 | \x1b\\ | \Z )  # titles, links and other strings
           | [ -/]* [0-~] )                         # short ones
    | [\x00-\x08\x0b-\x1f\x7f]                      # control characters, but for tab and newline
    """,
    re.VERBOSE | re.DOTALL,
)


class LocalAgentLauncher:
    """Starts agents on this machine. `environ` is their environment, besides their own variables.

    Without `sandboxes`, nothing is confined.
    """

    def __init__(self, environ: Mapping[str, str], sandboxes: SandboxPolicy | None = None) -> None:
        self._environ = dict(environ)
        self._sandboxes = sandboxes

    async def launch(
        self, spec: AgentSpec, workspace: Path, *, folder: Path | None = None, reads_only: bool = False
    ) -> "LocalAgentProcess":
        confined = AppliedSandbox()
        if self._sandboxes is not None:
            confined = await asyncio.to_thread(
                self._sandboxes.confine, spec, workspace, folder, reads_only=reads_only
            )
        environ, command = {**agent_environ(self._environ, spec), **confined.environ}, spec.command
        if folder is not None:
            command = relocated_command(command, workspace=workspace)
            environ = relocated_environ(environ, workspace=workspace, folder=folder)
        try:
            group = await spawn(command, cwd=folder or workspace, environ=environ, wrapper=confined.wrapper)
        except CannotRun as error:
            raise AgentNotFound(
                f"The agent {spec.name} cannot be started: {error.reason}.",
                suggestion=error.suggestion
                or spec.install_hint
                or "Check its spelling, or give its full path.",
                details=ErrorDetails(agent=spec.name),
            ) from error
        agent = LocalAgentProcess(spec.name, group, confined.state)
        agent.supervise()
        return agent


def agent_environ(environ: Mapping[str, str], spec: AgentSpec) -> dict[str, str]:
    """The environment of an agent, which has only the provider keys that it needs, and never the log's address."""
    inherited = dict(environ) if spec.keys is None else without_provider_keys(environ, keep=spec.keys)
    inherited.pop(STORE_VARIABLE, None)
    return {**inherited, **spec.env}


class LocalAgentProcess:
    """One agent process and the processes that it started."""

    def __init__(self, name: str, group: ProcessGroup, sandbox: SandboxStatus | None = None) -> None:
        assert group.stdin is not None
        self.sandbox = sandbox
        self._name = name
        self._group = group
        self._stream = PipeStream(group.stdout, group.stdin)
        self._last_words = bytearray()
        self._listening: asyncio.Task[None] | None = None
        self._life: asyncio.Task[str] | None = None

    def supervise(self) -> None:
        """Start to read its error output, and to end its leftover processes when it ends."""
        self._listening = asyncio.create_task(self._read_stderr(), name=f"stderr of agent {self._name}")
        self._life = asyncio.create_task(self._live(), name=f"life of agent {self._name}")

    @property
    def stream(self) -> ByteStream:
        return self._stream

    @property
    def pid(self) -> int:
        return self._group.pid

    def stderr_tail(self) -> str:
        text = self._last_words.decode(errors="replace").lstrip("\ufffd")
        return _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()

    async def wait(self) -> str:
        assert self._life is not None
        return await asyncio.shield(self._life)

    async def stop(self, *, grace: float) -> None:
        await self._group.stop(grace)
        await self.wait()

    async def _live(self) -> str:
        ending = await self._group.wait()
        await self._group.sweep()
        if self._listening is not None:
            await asyncio.wait({self._listening}, timeout=_LAST_WORDS_SECONDS)
        meaning = _SHELL_EXIT_CODES.get(self._group.exit_code or 0)
        return f"{ending} ({meaning})" if meaning else ending

    async def _read_stderr(self) -> None:
        assert self._group.stderr is not None
        while data := await self._group.stderr.read(READ_SIZE):
            self._last_words += data
            del self._last_words[:-STDERR_TAIL_BYTES]
