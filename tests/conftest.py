"""Fixtures of every test: its own home, a clean environment, and every sent frame checked."""

import gc
import os
import shutil
import signal
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.failure_report import shorten_snapshots, widen
from tests.support.frames import FrameWatch
from tests.support.program import Portico
from tests.support.warm import QuickPortico, warmed

# Busy machines are slow, which says nothing about the code. The examples are the same each time, so that the author of
# a change sees what it broke; with this variable they are new ones, to look for faults.
settings.register_profile("portico", deadline=None, derandomize="PORTICO_EXPLORE" not in os.environ)
settings.load_profile("portico")

# A shell that starts the tests in the background has Ctrl-C ignored, by them and by all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Likewise with nohup and the end of the terminal, which the tests themselves live through.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Options of this run are not those of a pytest that a test starts.
os.environ.pop("PYTEST_ADDOPTS", None)

# Folders whose tests take long, or much to set up.
LONG = ("vscode", "browser", "end_to_end", "cli", "review", "porter")
# Folders whose windows and servers would use the processor until the end of the run.
WITH_OWN_PROGRAMS = ("vscode", "browser")
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    widen(config)


class Folder(pytest.Package):
    """A folder of tests whose fixtures of scope "package" end with the last of them."""

    def setup(self) -> None:
        """Nothing: there is no `__init__.py` to import."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if path.parent == Path(__file__).parent and path.name in WITH_OWN_PROGRAMS:
        return Folder.from_parent(parent, path=path)
    return None


def pytest_collection() -> None:
    """Thousands of tests are collected, and none of it is garbage."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each of several workers begins with another of the long ones, so that what is left at the end is short.

    A worker is given an equal share of the list, one after the other; when it is done, it takes from the ends of others.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    folders = [item.nodeid.removeprefix("tests/").partition("/")[0] for item in items]
    for number, folder in enumerate(LONG):
        shares[number % workers] += [item for item, its in zip(items, folders, strict=True) if its == folder]
    short = [item for item, its in zip(items, folders, strict=True) if its not in LONG]
    for share in shares:
        room = max(0, len(items) // workers - len(share))
        share.extend(short[:room])
        del short[:room]
    if workers > 1:
        items[:] = [item for share in shares for item in share] + short


def pytest_collection_finish() -> None:
    """Thousands of collected tests are not looked through again at each garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo is not None:
        shorten_snapshots(call.excinfo.value)
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(autouse=True)
def own_home(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """A folder that Portico, and every program a test starts, takes for the user's. After a failure it stays."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("PORTICO_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PORTICO_HOME", str(home / "portico"))
    monkeypatch.setenv("PORTICO_TAP", str(home / "tap"))
    # A program that dies by a signal says where.
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    yield home
    if not request.node.stash.get(FAILED, False):
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True)
def frame_watch(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FrameWatch]:
    """No test passes in which Portico sent a frame that the protocol does not allow."""
    watch = FrameWatch(own_home / "tap")
    monkeypatch.setattr("portico.acp.connection.RpcConnection", watch.connection)
    yield watch
    watch.check()


@pytest.fixture(scope="session")
def warm_line() -> Iterator[Callable[[], socket.socket]]:
    """The line to an imported Portico, which is started when it is first needed."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(warmed()))


@pytest.fixture
def portico(
    own_home: Path, frame_watch: FrameWatch, tmp_path: Path, warm_line: Callable[[], socket.socket]
) -> Iterator[Portico]:
    """The program, as a person or a script would start it. What a test leaves running is a failure."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = QuickPortico(own_home, workspace, warm_line)
    yield program
    program.close()
