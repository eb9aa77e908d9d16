"""Programs in process groups of their own: stopped with everything they started, never orphaned.

A program is started through `/bin/sh`, which first leaves a watcher in the group and then becomes the
program. The watcher waits at a pipe, the lifeline, whose other end only this process holds: however
this process ends, the kernel closes it, and the watcher kills the group. The program never runs
without its watcher. Where the kernel has parent-death signals, the program itself dies with this process
even if the watcher is killed too. Knows bytes and processes, and no protocol.
"""

import asyncio
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from portico.processes.descendants import Descendant, descendants, group_exists, group_lives
from portico.processes.executables import CannotRun, find_program
from portico.processes.pipe_reader import PipeProtocol, PipeReader

PIPE_LIMIT = 256 * 1024
"""Up to twice as many bytes of a program's output are buffered; then it waits until they are read."""
_GONE_SECONDS = 5.0
_LAST_BYTES_SECONDS = 0.25

# A parent that died before the shell could be told to die with it is no longer the parent.
# The watcher ignores what the group may be sent, from before the program starts. Its parent ends at
# once, so the program has no child that it does not know. `/dev/fd` is there because dash redirects
# single digits only. Where the kernel lists children, those that left the group are killed as well,
# while the program stands still and cannot start others. A dead parent has taken the program with it,
# whose children then are known by a mark in their environment only.
_GUARDED = r"""
[ "$PPID" = "$2" ] || exit 125
(
  trap '' HUP INT QUIT ALRM TERM USR1 USR2 TSTP TTIN TTOU
  {
    died=
    read -r _ </dev/fd/"$1" || died=yes
    strays=
    collect() {
      for file in /proc/"$1"/task/*/children; do
        children=
        read -r children <"$file"
        for child in $children; do
          facts=
          read -r facts </proc/"$child"/stat
          set -- ${facts##*) }
          [ "${3:-$$}" = $$ ] || strays="$strays $child"
          collect "$child"
        done
      done
    }
    kill -STOP $$
    collect $$
    if [ "$died" ]; then
      read -r self _ </proc/self/stat
      for file in $(grep -la "$3" /proc/[0-9]*/environ); do
        child=${file#/proc/}
        [ "${child%/*}" = "$self" ] || strays="$strays ${child%/*}"
      done
    fi
    kill -KILL $strays
    kill -KILL 0
  } </dev/null >/dev/null 2>&1 &
) || exit 125
shift 3
exec "$@"
"""
_MARK = "PORTICO_PROCESS_GROUP"
"""The variable that a program and all that it started have in common."""
_SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _OutputPipe(PipeProtocol):
    """Feeds a program's output to its reader as it is read. asyncio's own protocol would pass it on later."""

    def __init__(self, reader: PipeReader, original: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._original = original

    def connection_lost(self, exc: Exception | None) -> None:
        self._original.connection_lost(exc)


class _Pipes(asyncio.subprocess.SubprocessStreamProtocol):
    """The program's pipes. Its own end is separate from theirs: a child of it may keep them open."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=PIPE_LIMIT, loop=loop)
        self.exited = asyncio.Event()
        self.read_out = asyncio.Event()
        self.readers: dict[int, PipeReader] = {}
        """By the number of the descriptor: 1 for output, 2 for error output."""
        self._open: set[int] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.SubprocessTransport)
        for number in (1, 2):
            pipe = transport.get_pipe_transport(number)
            if isinstance(pipe, asyncio.ReadTransport):
                # In place of the reader of the base class, which cannot pass bytes on as they arrive.
                reader = self.readers[number] = PipeReader(PIPE_LIMIT)
                reader.set_transport(pipe)
                pipe.set_protocol(_OutputPipe(reader, pipe.get_protocol()))
        self._open = set(self.readers)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Take output that arrived before `connection_made`."""
        assert isinstance(data, bytes)
        self.readers[fd].feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        super().pipe_connection_lost(fd, exc)
        if (reader := self.readers.get(fd)) is not None:
            reader.end(exc)
        self._open.discard(fd)
        if not self._open:
            self.read_out.set()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class _Lifeline:
    """A pipe that ends without a word when this process dies, and with one when it is cut."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()

    def hand_over(self) -> None:
        """The child has its copy of the read end."""
        os.close(self.read_end)

    def cut(self) -> None:
        if self._write_end >= 0:
            try:
                os.write(self._write_end, b"\n")
            except BrokenPipeError:
                pass  # The watcher is gone.
            os.close(self._write_end)
            self._write_end = -1


class ProcessGroup:
    """A running program with everything it started. Made by `spawn`; its owner must stop it."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        pipes: _Pipes,
        lifeline: _Lifeline,
        *,
        wrapped: bool = False,
    ) -> None:
        self._transport = transport
        self._pipes = pipes
        self._lifeline = lifeline
        self._wrapped = wrapped
        self.pid = transport.get_pid()

    @property
    def stdin(self) -> asyncio.StreamWriter | None:
        return self._pipes.stdin

    @property
    def stdout(self) -> PipeReader:
        return self._pipes.readers[1]

    @property
    def stderr(self) -> PipeReader | None:
        return self._pipes.readers.get(2)

    @property
    def running(self) -> bool:
        """Whether the program itself runs. What it started may outlive it, until `sweep` or `stop`."""
        return not self._pipes.exited.is_set()

    @property
    def exit_code(self) -> int | None:
        code = self._transport.get_returncode()
        return code if code is not None and code >= 0 else None

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the program, if one did."""
        code = self._transport.get_returncode()
        if code is None or code >= 0:
            return None
        try:
            return signal.Signals(-code).name
        except ValueError:
            return str(-code)

    async def wait(self) -> str:
        """Until the program is gone; how it ended ("exit code 3", "signal SIGKILL")."""
        await self._pipes.exited.wait()
        return f"exit code {self.exit_code}" if self.signal is None else f"signal {self.signal}"

    async def sweep(self) -> None:
        """End what an ended program left behind. What it wrote can still be read, and then its output ends."""
        self._lifeline.cut()
        await self._until_gone(set())
        self._let_go_later()

    async def stop(self, grace: float) -> None:
        """End the program and all that it started: politely, and by force after `grace` seconds.

        Returns when everything is gone. A second call with a shorter grace hurries the first, and a
        cancelled call kills at once.
        """
        strays = self._strays()
        try:
            if self.running and grace > 0:
                self._ask_to_end(strays)
                await _within(grace, self._pipes.exited)
                strays |= self._strays()
        finally:
            await self._kill(strays)
        await _within(_GONE_SECONDS, self._pipes.exited)
        await self._until_gone(strays)
        await _within(_LAST_BYTES_SECONDS, self._pipes.read_out)
        self._transport.close()

    def _let_go_later(self) -> None:
        asyncio.get_running_loop().call_later(_LAST_BYTES_SECONDS, self._let_go)

    def _let_go(self) -> None:
        """End outputs that a daemon holds open which got away. One that is not being read has bytes left in it."""
        if self._pipes.read_out.is_set():
            return
        for number, reader in self._pipes.readers.items():
            output = self._transport.get_pipe_transport(number)
            # Not every Python 3.11 can say of a pipe whether it is being read; its reader can.
            if output is not None and not reader.is_paused:
                output.close()
        self._let_go_later()

    def _strays(self) -> set[Descendant]:
        """Descendants outside the group, which a signal to the group does not reach."""
        if not self.running:
            return set()
        return {process for process in descendants(self.pid) if process.group != self.pid}

    def _ask_to_end(self, strays: set[Descendant]) -> None:
        if sys.platform == "win32":
            self._transport.send_signal(signal.CTRL_BREAK_EVENT)
            return
        asked = strays
        if self._wrapped:
            # A wrapper that ended would take the program with it, before that could end politely.
            asked = set(descendants(self.pid))
        if not asked or not self._wrapped:
            self._signal_group(signal.SIGTERM)
        for process in asked:
            process.send(signal.SIGTERM)

    async def _kill(self, strays: set[Descendant]) -> None:
        if sys.platform == "win32":
            if self.running:
                killer = await asyncio.create_subprocess_exec("taskkill", "/T", "/F", "/PID", str(self.pid))
                await killer.wait()
        else:
            # While the program runs, its number is its own; afterwards only the watcher may use it.
            if self.running:
                self._signal_group(signal.SIGKILL)
            for stray in strays:
                stray.send(signal.SIGKILL)
        self._lifeline.cut()

    def _signal_group(self, number: int) -> None:
        if sys.platform != "win32":
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                return

    async def _until_gone(self, strays: set[Descendant]) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _GONE_SECONDS
        pause = 0.001
        while loop.time() < deadline:
            alive = group_exists(self.pid)
            if alive and pause > 0.003:
                alive = await asyncio.to_thread(group_lives, self.pid)
            if not alive and not any(stray.is_alive() for stray in strays):
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.1)


async def spawn(
    command: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    merged: bool = False,
    wrapper: Sequence[str] = (),
) -> ProcessGroup:
    """Start a program in a session and group of its own. CannotRun when that is not possible.

    It gets three pipes; when `merged`, no input, and both outputs as one. A `wrapper` is a command that runs the
    program as its child, such as a sandbox.
    """
    words = (*wrapper, *_resolve(tuple(command), cwd, environ))
    lifeline = _Lifeline()
    mark = secrets.token_hex(8)
    options: dict[str, Any] = {"cwd": cwd, "env": {**environ, _MARK: mark}, "stdout": subprocess.PIPE}
    if merged:
        options |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    else:
        options |= {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        options |= {"start_new_session": True, "pass_fds": (lifeline.read_end,)}
        known = (str(lifeline.read_end), str(os.getpid()), f"{_MARK}={mark}")
        guard = (*_dying_with_parent(), "/bin/sh", "-c", _GUARDED, "sh", *known)
        words = (*guard, *_beyond_shell(environ), *words)
    # A start that is cancelled halfway may never return, so it runs on and is ended as soon as it can be.
    starting = asyncio.create_task(
        _start(words, options, lifeline, wrapped=bool(wrapper)), name=f"start of {command[0]}"
    )
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as error:
        raise CannotRun(f"“{command[0]}” could not be started: {error}") from error
    except asyncio.CancelledError:
        lifeline.cut()
        await asyncio.wait({starting})
        if starting.exception() is None:
            await starting.result().stop(0)
        raise


async def _start(
    words: Sequence[str], options: dict[str, Any], lifeline: _Lifeline, *, wrapped: bool
) -> ProcessGroup:
    loop = asyncio.get_running_loop()
    try:
        transport, pipes = await loop.subprocess_exec(lambda: _Pipes(loop), *words, **options)
    except BaseException:
        lifeline.cut()
        raise
    finally:
        lifeline.hand_over()
    return ProcessGroup(transport, pipes, lifeline, wrapped=wrapped)


@cache
def _dying_with_parent() -> tuple[str, ...]:
    """Words that have a program killed when the thread that starts it ends, which is the event loop's.

    That is util-linux's `setpriv`; busybox has one that cannot do this, and other systems have none.
    """
    setpriv = shutil.which("setpriv", path="/usr/bin:/bin") if sys.platform == "linux" else None
    # One that knows the option has its name inside; to ask it would take a process.
    if setpriv is None or b"pdeathsig" not in Path(setpriv).read_bytes():
        return ()
    return (setpriv, "--pdeathsig", "KILL")


def _resolve(command: tuple[str, ...], cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    if not cwd.is_dir():
        raise CannotRun(f"the folder {cwd} does not exist")
    return (find_program(command[0], cwd=cwd, environ=environ), *command[1:])


def _beyond_shell(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that dash would drop on the way, since no shell variable could have their name."""
    lost = tuple(f"{name}={value}" for name, value in environ.items() if not _SHELL_NAME.fullmatch(name))
    return ("/usr/bin/env", *lost) if lost else ()


async def _within(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
