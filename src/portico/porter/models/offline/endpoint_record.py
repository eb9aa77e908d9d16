"""The record file of a running offline endpoint: its address and key, valid while its lock is held."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.paths import state_folder
from portico.domain import codecs
from portico.files.locks import is_locked
from portico.files.private import replace_private
from portico.porter.models.offline.model_files import OfflineFile


class EndpointRecord(msgspec.Struct, frozen=True):
    address: str
    key: str


def record_file(file: OfflineFile, environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / f"offline-{file.name}.json"


def lock_file(record: Path) -> Path:
    return record.with_suffix(".lock")


def write_record(path: Path, record: EndpointRecord) -> None:
    replace_private(path, msgspec.json.encode(record))


def living_record(path: Path) -> EndpointRecord | None:
    """Return the record of a running endpoint; None if its lock is free, because its process ended."""
    if not is_locked(lock_file(path)):
        return None
    try:
        return codecs.decode_json(path.read_bytes(), EndpointRecord)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
