"""The record file of a running offline endpoint: its address and key, valid while its lock is held."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.paths import state_folder
from portico.domain import codecs
from portico.files.locks import lock, unlock
from portico.porter.models.offline.model_files import OfflineFile


class EndpointRecord(msgspec.Struct, frozen=True):
    address: str
    key: str


def record_file(file: OfflineFile, environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / f"offline-{file.name}.json"


def lock_file(record: Path) -> Path:
    return record.with_suffix(".lock")


def write_record(path: Path, record: EndpointRecord) -> None:
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(msgspec.json.encode(record))
    fresh.replace(path)


def living_record(path: Path) -> EndpointRecord | None:
    """Return the record of a running endpoint; None if its lock is free, because its process ended."""
    try:
        descriptor = os.open(lock_file(path), os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if lock(descriptor, wait=False):
            unlock(descriptor)
            return None
        return codecs.decode_json(path.read_bytes(), EndpointRecord)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    finally:
        os.close(descriptor)
