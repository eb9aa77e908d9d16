"""Records of pulled models: written when a checksum was verified, and compared before a file is used."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from portico.domain.errors import InvalidInput
from portico.files.private import replace_private
from portico.porter.models.offline.model_files import (
    OfflineFile,
    PullRecord,
    location,
    read_record,
    record_path,
)
from portico.porter.models.offline.unfinished_file import checksum_of


def write_record(file: OfflineFile, environ: Mapping[str, str]) -> None:
    """Record that the checksum of a file was verified. Blocks."""
    record = PullRecord(
        file=file,
        pulled_at=datetime.now(UTC).isoformat(timespec="seconds"),
        changed_ns=location(file, environ).stat().st_mtime_ns,
    )
    replace_private(record_path(file.name, environ), msgspec.json.encode(record))


def verify_file(file: OfflineFile, environ: Mapping[str, str]) -> None:
    """Verify the checksum of a file that changed since it was recorded. Blocks. Raises InvalidInput."""
    path, record = location(file, environ), read_record(file.name, environ)
    try:
        if record is not None and record.changed_ns == path.stat().st_mtime_ns:
            return
        if checksum_of(path) == file.sha256:
            write_record(file, environ)
            return
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    raise InvalidInput(
        f"The file of the offline model {file.name} is damaged: its checksum is wrong.",
        suggestion=f"Delete it with: portico models rm {file.name}. Then pull it again.",
    )
