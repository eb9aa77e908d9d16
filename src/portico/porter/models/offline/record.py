"""Where the endpoint that runs is found: a record with its address and key, alive while its lock is held."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.locking import lock, unlock
from portico.config.paths import state_folder
from portico.domain import codecs
from portico.porter.models.offline.files import OfflineFile


class Record(msgspec.Struct, frozen=True):
    address: str
    key: str


def record_file(file: OfflineFile, environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / f"offline-{file.name}.json"


def lock_file(record: Path) -> Path:
    return record.with_suffix(".lock")


def write_record(path: Path, record: Record) -> None:
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(msgspec.json.encode(record))
    fresh.replace(path)


def living_record(path: Path) -> Record | None:
    """The record of an endpoint that runs. The kernel knows, so a process that died is never believed in."""
    try:
        descriptor = os.open(lock_file(path), os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if lock(descriptor, wait=False):
            unlock(descriptor)
            return None
        return codecs.decode_json(path.read_bytes(), Record)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    finally:
        os.close(descriptor)
