"""Takes over a model file of the user, by a hard link where possible, and removes pulled models."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from portico.domain.errors import FileMissing, InvalidInput
from portico.files.failures import file_failure
from portico.files.private import copy_private, make_private_folder
from portico.porter.models.offline.download import PullProgress, need_space, pull_lock
from portico.porter.models.offline.gguf_header import ModelHeader, read_header
from portico.porter.models.offline.model_files import (
    KNOWN,
    OfflineFile,
    location,
    models_folder,
    name_of,
    record_path,
    unfinished_folder,
)
from portico.porter.models.offline.pull_record import write_record
from portico.porter.models.offline.unfinished_file import checksum_of

_TINY_BYTES = 400 * 1024 * 1024
_UNKNOWN_WINDOW = 4096


def add_own_file(
    path: Path, environ: Mapping[str, str], progress: Callable[[PullProgress], None], *, name: str = ""
) -> OfflineFile:
    """Add a GGUF file as a model. Blocks. Raises InvalidInput if it is none, or its name is taken."""
    if not path.is_file():
        raise FileMissing(f"There is no file {path}.")
    name = name or name_of(path)
    if name in KNOWN or name != name_of(Path(f"{name}.gguf")):
        raise InvalidInput(
            f'A model file cannot have the name "{name}".',
            suggestion="Choose another of small letters, digits, dots and dashes: --name NAME",
        )
    header, size = read_header(path), path.stat().st_size

    def report(done: int) -> None:
        progress(PullProgress(step="checking", done=done, total=size))

    make_private_folder(models_folder(environ))
    with pull_lock(name, environ):
        try:
            file = _describe(name, path, header, checksum_of(path, report))
            _link(path, location(file, environ), name)
            write_record(file, environ)
        except OSError as error:
            raise file_failure(error, models_folder(environ)) from error
    return file


def remove_model(file: OfflineFile, environ: Mapping[str, str]) -> int:
    """Delete a model and what an unfinished pull left. Returns the size of its file. Blocks."""
    path = location(file, environ)
    make_private_folder(models_folder(environ))
    with pull_lock(file.name, environ):
        size = path.stat().st_size if path.exists() else 0
        shutil.rmtree(unfinished_folder(file, environ), ignore_errors=True)
        path.unlink(missing_ok=True)
        record_path(file.name, environ).unlink(missing_ok=True)
    return size


def _describe(name: str, path: Path, header: ModelHeader, checksum: str) -> OfflineFile:
    size = path.stat().st_size
    tiny = size < _TINY_BYTES
    return OfflineFile(
        name=name,
        title=header.title or name,
        size=size,
        sha256=checksum,
        window=header.window or _UNKNOWN_WINDOW,
        license=header.license or "unknown",
        origin=f"the file {path.name} of the user",
        abilities="What it can do is not known.",
        tools="tools" in header.template and not tiny,
        tiny=tiny,
        token_bytes=header.token_bytes,
    )


def _link(path: Path, target: Path, name: str) -> None:
    fresh = target.with_name(f"{target.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        os.link(path.resolve(), fresh)
    except OSError:
        # It is on another disk, or the file system has no links.
        need_space(path.stat().st_size, target.parent, name)
        copy_private(path, fresh)
    fresh.replace(target)
