"""Starts the real `portico` program, and looks at what it leaves: output, log, processes."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.store.sqlite import SqliteStore
from portico.testing import scripted_agent_command
from tests.support.processes import MARK, new_mark, survivors
from tests.support.stream import Json, Stream

PROGRAM = Path(sys.executable).with_name("portico")
DEADLINE = 60.0
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)


class Ran:
    """A command that has ended."""

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def api(self) -> Json:
        """The one JSON object that `--api` prints."""
        (line,) = self.text.splitlines()
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    @property
    def stream(self) -> Stream:
        """The whole stream of `--json-stream`, held against its contract."""
        stream = Stream(self.out)
        stream.check_ending(self.code)
        return stream

    @property
    def complaint(self) -> list[str]:
        """Standard error as a person reads it."""
        return self.err.splitlines()


# Of a program that did not end: enough to see where it stopped.
_LAST_WORDS = 4000


class Running:
    """A command that runs; standard output can be read as it comes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.seen = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def until(self, *types: str) -> Json:
        """Read the stream up to the first line of one of these types, or of a state so named."""
        while line := self._readline():
            found: Json = json.loads(line)
            if found["type"] in types or found["payload"].get("state") in types:
                return found
        raise AssertionError(f"the stream ended without {types}: {self.seen!r} {self.end().err}")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, *, seconds: float = DEADLINE) -> Ran:
        """Wait for its end; all it printed, also what was read before."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as late:
            said = (self.seen + (late.output or b""))[-_LAST_WORDS:]
            raise AssertionError(
                f"it did not end within {seconds:g} s; the end of its output: {said!r}"
            ) from late
        return ran(self.process.returncode, self.seen + (out or b""), err or b"")

    def _readline(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.seen += line
        return line


class Portico:
    """One user's Portico: its home, a folder to work in, and whatever was started."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home = home
        self.workspace = workspace
        self.state = home / "portico" / "state"
        self.mark = new_mark()
        self._running: list[Running] = []

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        seconds: float = DEADLINE,
    ) -> Ran:
        """Run a command to its end."""
        done = subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.workspace,
            env=self.environ(environ),
            timeout=seconds,
            check=False,
        )
        return ran(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, environ: Mapping[str, str] | None = None, **options: Any) -> Running:
        """Start a command and leave it running."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # Unbuffered: what was read line by line must not be missing when the rest is taken at the end.
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            bufsize=0,
            **{"cwd": self.workspace, "env": self.environ(environ), **pipes, **options},
        )
        self._running.append(Running(process))
        return self._running[-1]

    def exec(self, prompt: str | list[Any], *flags: str, **options: Any) -> Ran:
        """One turn with the scripted agent, as a stream."""
        return self.run(*self.turn(prompt, *flags), **options)

    def start_exec(self, prompt: str | list[Any], *flags: str, **options: Any) -> Running:
        return self.start(*self.turn(prompt, *flags), **options)

    def turn(self, prompt: str | list[Any], *flags: str) -> tuple[str, ...]:
        """The words of a streamed turn. Steps of the scripted agent may stand for a prompt."""
        text = prompt if isinstance(prompt, str) else json.dumps(prompt)
        chosen = {"--agent", "--agent-command"} & set(flags)
        agent = () if chosen else ("--agent-command", self.agent)
        return ("exec", "--json-stream", *agent, *flags, text)

    @property
    def agent(self) -> str:
        """The scripted agent that does what its prompts say, and remembers its sessions."""
        return agent_command(state=self.home / "agent")

    def environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        wanted = ("PATH", "LANG", "SYSTEMROOT", "HOME", "PORTICO_HOME", "PORTICO_TAP", "PYTHONFAULTHANDLER")
        known = {name: os.environ[name] for name in wanted if name in os.environ}
        return {"PYTHONUTF8": "1", MARK: self.mark, **known, **(more or {})}

    def settings(self, content: Json | str) -> None:
        """Write the user's settings file."""
        _write_settings(self.home / "portico" / "config", content)

    def workspace_settings(self, content: Json | str) -> None:
        """Write the settings file of the workspace."""
        _write_settings(self.workspace / ".portico", content)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[SqliteStore]:
        store = SqliteStore(self.state)
        await store.open()
        try:
            yield store
        finally:
            await store.close()

    async def log(self, session_id: str) -> list[Event]:
        """Everything in a session's log."""
        async with self.store() as store:
            return await store.read(SessionId(session_id), after_seq=0, limit=1_000_000)

    def leases(self) -> int:
        """Number of held leases: one for each open session, one for each folder in use."""
        return sum(1 for lock in (self.state / "leases").glob("*.lock") if lock.stem != "gate")

    def close(self) -> None:
        """End what is left. Nothing may be, and nothing unforeseen may stand in the program's own log."""
        left = [running for running in self._running if running.process.poll() is None]
        for running in left:
            running.process.kill()
        for running in self._running:
            running.process.communicate(timeout=DEADLINE)
        assert [running.process.args for running in left] == []
        assert survivors(self.mark) == []
        log = self.state / "portico.log"
        assert not log.exists() or "Traceback" not in log.read_text(), log.read_text()


def ran(code: int, out: bytes, err: bytes) -> Ran:
    """No command, whatever happened to it, crashes or shows its insides."""
    text = err.decode()
    assert -code not in CRASHES, text
    for word in (b"Traceback", b"never retrieved", b"ResourceWarning"):
        assert word not in out + err, (out + err).decode()
    return Ran(code, out, text)


def agent_command(script: Mapping[str, Any] | None = None, **options: Any) -> str:
    """The scripted agent for `--agent-command`."""
    return shlex.join(scripted_agent_command(script, **options))


def _write_settings(folder: Path, content: Json | str) -> None:
    """Replace the file at once: a server may read it at any moment."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "settings.json.part"
    part.write_text(content if isinstance(content, str) else json.dumps(content))
    part.replace(folder / "settings.json")
