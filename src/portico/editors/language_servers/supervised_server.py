"""A language server that is started when it is needed, started again after a crash, and ended when it is idle."""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from portico.domain.errors import LanguageServerFailed
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.specification import ServerCommand
from portico.editors.language_servers.tree_sync import TreeSync
from portico.processes.descendants import descendants
from portico.sessions.ports import Clock

log = logging.getLogger(__name__)

IDLE_SECONDS = 15 * 60.0
CHECK_SECONDS = 5.0
STABLE_SECONDS = 60.0
_LONGEST_PAUSE = 60.0
_UNPUNISHED = 2

Prepare = Callable[[], Awaitable[ServerCommand]]
Launch = Callable[[ServerCommand], Awaitable[LanguageServer]]


_KIB = 1024
_PROC, _PS = Path("/proc"), Path("/bin/ps")


class SupervisedServer:
    """One server of one tree, shared by everything that asks about the tree."""

    def __init__(self, name: str, prepare: Prepare, launch: Launch, clock: Clock) -> None:
        self.name = name
        self._prepare = prepare
        self._launch = launch
        self._clock = clock
        self._starting = asyncio.Lock()
        self._server: LanguageServer | None = None
        self._sync: TreeSync | None = None
        self._watch: asyncio.Task[None] | None = None
        self._users = 0
        self._failures = 0
        self._reason = ""
        self._started_at = 0.0
        self._not_before = 0.0
        self.last_used = clock.monotonic()

    @property
    def running(self) -> bool:
        return self._server is not None and self._server.running

    @property
    def pid(self) -> int | None:
        """The process of the server, if it runs."""
        return self._server.pid if self._server is not None and self.running else None

    @property
    def busy(self) -> bool:
        return self._users > 0

    @asynccontextmanager
    async def use(self) -> AsyncIterator[tuple[LanguageServer, TreeSync]]:
        """The running server, which is not ended meanwhile for being idle."""
        self._users += 1
        try:
            yield await self._running()
        finally:
            self._users -= 1
            self.last_used = self._clock.monotonic()

    async def end(self) -> None:
        """End the server; the next use starts it again."""
        server, self._server = self._server, None
        watch = self._watch
        if watch is not None and watch is not asyncio.current_task():
            if server is not None:
                watch.cancel()
            # Otherwise it is ending the server itself.
            await asyncio.wait({watch})
            self._watch = None
        if server is not None:
            await server.end()

    async def _running(self) -> tuple[LanguageServer, TreeSync]:
        async with self._starting:
            if self._server is not None and not self._server.running:
                await self._bury(f"{self.name} crashed.{self._server.last_words()}")
            if self._server is None or self._sync is None:
                await self._start()
        assert self._server is not None
        assert self._sync is not None
        return self._server, self._sync

    async def _start(self) -> None:
        await self.end()
        pause = self._not_before - self._clock.monotonic()
        if pause > 0:
            again = f" That was failure {self._failures} in a row." if self._failures > 1 else ""
            raise LanguageServerFailed(f"{self._reason}{again} It is not started again for {pause:.0f} s.")
        # A program that is missing is no failure of the server, and may be there the next time.
        command = await self._prepare()
        try:
            server = await self._launch(command)
            try:
                sync = TreeSync(server)
                await sync.begin()
            except BaseException:
                await server.kill()
                raise
        except LanguageServerFailed as error:
            self._failed(error.message)
            raise
        self._server, self._sync = server, sync
        self._started_at = self._clock.monotonic()
        self._watch = asyncio.create_task(self._keep_watch(server), name=f"watch over {self.name}")

    def _failed(self, reason: str, *, pause: float = 0.0) -> None:
        """Note a failure: the third in a row is followed by a pause, and each later one by a longer one."""
        self._failures += 1
        self._reason = reason
        if self._failures > _UNPUNISHED:
            pause = max(pause, min(2.0 ** (self._failures - _UNPUNISHED - 1), _LONGEST_PAUSE))
        self._not_before = self._clock.monotonic() + pause

    async def _bury(self, reason: str, *, pause: float = 0.0) -> None:
        if self._clock.monotonic() - self._started_at > STABLE_SECONDS:
            self._failures = 0
        self._failed(reason, pause=pause)
        await self.end()

    async def _keep_watch(self, server: LanguageServer) -> None:
        """End a server that is idle, or that takes more memory than it may."""
        while server.running:
            await self._clock.sleep(CHECK_SECONDS)
            used, limit = await asyncio.to_thread(used_megabytes, server.pid), server.spec.memory_mb
            if used > limit:
                log.warning("%s used %d MB; its limit is %d MB", self.name, used, limit)
                await self._bury(
                    f"{self.name} used {used} MB of memory, more than its limit of {limit} MB, and was stopped. "
                    f"The limit is languageServers.{self.name}.memoryMb in the settings.",
                    pause=_LONGEST_PAUSE,
                )
                return
            if not self.busy and self._clock.monotonic() - self.last_used > IDLE_SECONDS:
                await self.end()
                return


def used_megabytes(pid: int) -> int:
    """Resident memory of a process and its descendants; 0 where the system does not tell. Blocks."""
    if _PROC.is_dir():
        pids = [pid, *(process.pid for process in descendants(pid))]
        return sum(map(_resident_kib, pids)) // _KIB
    if _PS.exists():
        # The program leads its process group, and what it starts is in there too.
        told = subprocess.run(
            (str(_PS), "-o", "rss=", "-g", str(pid)), capture_output=True, text=True, check=False
        )
        return sum(int(word) for word in told.stdout.split() if word.isdecimal()) // _KIB
    return 0


def _resident_kib(pid: int) -> int:
    try:
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return 0
