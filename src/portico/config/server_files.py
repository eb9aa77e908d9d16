"""Files of the server in the state folder: record, token, log and lock.

`server.json` and the token outlive the server, so that the next one can use the same port and token. Only the lock,
which ends with its process, says that a server is running.
"""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.domain.errors import StoreFailed
from portico.files.failures import file_failure
from portico.files.leases import FileLease, FileLeases
from portico.files.private import make_private_folder, replace_private

MAX_LOG_BYTES = 1_000_000

_LEASE = "server"
_OPEN_TO_OTHERS = 0o077
_LONGEST_TOKEN = 200
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ServerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of `server.json`, by which clients find the server."""

    pid: int
    port: int
    version: str
    started_at: str
    token_file: str
    public_url: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


def make_token() -> str:
    """256 random bits, as text that is safe in a header and in a URL."""
    return secrets.token_urlsafe(32)


class ServerFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record_file = folder / "server.json"
        self.token_file = folder / "server.token"
        self.log_file = folder / "server.log"
        self._leases = FileLeases(folder / "server")

    def take_lease(self) -> FileLease | None:
        """Lease of the user's server; None while another process holds it."""
        return self._leases.take(_LEASE, f"process {os.getpid()}")

    def holder(self) -> str | None:
        """The process that is the user's server, if any."""
        return self._leases.holder(_LEASE)

    def read_record(self) -> ServerRecord | None:
        """Record of the latest server; None if the file is missing or invalid."""
        try:
            return codecs.decode_json(self.record_file.read_bytes(), ServerRecord)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def write_record(self, record: ServerRecord) -> None:
        self._write(self.record_file, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")

    def read_token(self) -> str | None:
        """The current token, if no other user can have read it."""
        try:
            with self.token_file.open("rb") as file:
                status = os.fstat(file.fileno())
                text = file.read(_LONGEST_TOKEN).decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        shared = os.name != "nt" and (status.st_uid != os.getuid() or status.st_mode & _OPEN_TO_OTHERS)
        return None if shared else text or None

    def ensure_token(self) -> str:
        """The current token, or a new one."""
        if (token := self.read_token()) is not None:
            return token
        token = make_token()
        self._write(self.token_file, token.encode() + b"\n")
        return token

    def put_back(self, record: ServerRecord, token: str) -> None:
        """Write the record and the token again if they were removed."""
        if not self.record_file.exists():
            self.write_record(record)
        if not self.token_file.exists():
            self._write(self.token_file, token.encode() + b"\n")

    def open_log(self) -> int:
        """Open the log of a detached server for appending; a large one is moved aside first."""
        try:
            self._make_folder()
            with suppress(FileNotFoundError):
                if self.log_file.stat().st_size > MAX_LOG_BYTES:
                    self.log_file.replace(self.log_file.with_suffix(".log.1"))
            return os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise _unwritable(self.log_file, error) from error

    def note(self, text: str) -> None:
        """Add a line to that log. StoreFailed if it cannot be written."""
        log = self.open_log()
        try:
            os.write(log, f"{text}\n".encode())
        except OSError as error:
            raise _unwritable(self.log_file, error) from error
        finally:
            os.close(log)

    def _write(self, path: Path, data: bytes) -> None:
        """Replace a file atomically, readable by its owner only."""
        try:
            self._make_folder()
            replace_private(path, data)
        except OSError as error:
            raise _unwritable(path, error) from error

    def _make_folder(self) -> None:
        make_private_folder(self.folder)


def _unwritable(path: Path, error: OSError) -> StoreFailed:
    if error.errno in _FULL:
        return file_failure(error, path)
    return StoreFailed(
        f"{path} cannot be written: {error.strerror or error}.",
        suggestion="Check the folder and its owner, or set PORTICO_HOME to a folder that you own.",
    )
