"""Finds or starts the local endpoint of an offline model, shared by all Porters of a user.

It ends with the process that started it, at the latest. Other processes that used it then start their own with
their next request.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from portico.config.paths import state_folder
from portico.domain import codecs
from portico.domain.errors import InvalidInput, ModelTimedOut
from portico.files.locks import LockFile
from portico.files.private import make_private_folder
from portico.porter.models.offline.endpoint_record import EndpointRecord, living_record, record_file
from portico.porter.models.offline.machine import context_window, thread_variables
from portico.porter.models.offline.model_files import OfflineFile, is_ready, location
from portico.porter.models.offline.pull_record import verify_file
from portico.processes.process_group import ProcessGroup, spawn

_START_SECONDS = 120.0
_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 2.0
_LAST_LINES = 3
_SIGNALS = {
    "SIGILL": "this processor lacks instructions that it needs, such as AVX2.",
    "SIGKILL": "the system ended it, probably because there is not enough memory.",
}


class OfflineEndpoint:
    """The endpoint of one model in this process, counted by its users: the last one to release it stops it."""

    def __init__(self, file: OfflineFile, environ: Mapping[str, str]) -> None:
        self._file = file
        self._environ = environ
        self._record = record_file(file, environ)
        self._child: ProcessGroup | None = None
        self._holders = 0
        self._turn = asyncio.Lock()

    def hold(self) -> None:
        self._holders += 1

    async def let_go(self) -> None:
        self._holders -= 1
        if self._holders == 0:
            _ENDPOINTS.pop(self._record, None)
            await self._stop()

    async def find(self) -> EndpointRecord:
        """Return the running endpoint, of any process of the user, or start one."""
        async with self._turn:
            if record := living_record(self._record):
                return record
            await self._stop()
            make_private_folder(self._record.parent)
            try:
                async with asyncio.timeout(_START_SECONDS), _alone(self._record.with_suffix(".starting")):
                    return living_record(self._record) or await self._start()
            except TimeoutError as error:
                await self._stop()
                raise ModelTimedOut(
                    f"The offline model {self._file.name} did not start within {_START_SECONDS:.0f} s.",
                    suggestion="The machine may be too busy. Try again.",
                ) from error

    async def _start(self) -> EndpointRecord:
        if not is_ready(self._file, self._environ):
            raise InvalidInput(
                f"The offline model {self._file.name} is not downloaded.",
                suggestion=f"Download it with: portico models pull {self._file.name}",
            )
        await asyncio.to_thread(verify_file, self._file, self._environ)
        command = [sys.executable, "-m", "portico.porter.models.offline"]
        command += [str(location(self._file, self._environ)), str(self._record)]
        command += [str(context_window(self._file))]
        environ = {**thread_variables(), **self._environ}
        self._child = await spawn(command, cwd=state_folder(self._environ), environ=environ)
        line = await self._child.stdout.readline()
        if not line:
            raise ModelTimedOut(
                f"The offline model {self._file.name} did not start: {await self._last_words()}",
                suggestion="Check that it is installed: pip install 'portico[offline]'",
            )
        return codecs.decode_json(line, EndpointRecord)

    async def _last_words(self) -> str:
        assert self._child is not None
        assert self._child.stderr is not None
        said = (await self._child.stderr.read()).decode(errors="replace").strip().splitlines()
        await self._child.wait()
        if (signal := self._child.signal) in _SIGNALS:
            return _SIGNALS[signal]
        return " ".join(line.strip() for line in said[-_LAST_LINES:]) or "no output"

    async def _stop(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            await child.stop(_GRACE_SECONDS)


_ENDPOINTS: dict[Path, OfflineEndpoint] = {}
"""Return the endpoint of a record file: the models of one process share it."""


def shared_endpoint(file: OfflineFile, environ: Mapping[str, str]) -> OfflineEndpoint:
    path = record_file(file, environ)
    return _ENDPOINTS.setdefault(path, OfflineEndpoint(file, environ))


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Lock that lets one process start the endpoint while others wait for it."""
    with LockFile(path) as file:
        while not file.take(wait=False):  # noqa: ASYNC110 - the holder is another process
            await asyncio.sleep(_LOOK_SECONDS)
        yield
