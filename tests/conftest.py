"""What holds for every test: a home of its own, a clean environment, and every sent frame checked."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.frames import FrameWatch
from tests.support.program import Portico

# Busy machines are slow, which says nothing about the code. The examples are the same each time, so that whoever
# makes a change sees what it broke; with this variable they are new ones, for whoever goes looking for faults.
settings.register_profile("portico", deadline=None, derandomize="PORTICO_EXPLORE" not in os.environ)
settings.load_profile("portico")

# A shell that starts the tests in the background has Ctrl-C ignored, by them and by all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Portico, and every program a test starts, takes for the user's."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("PORTICO_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PORTICO_HOME", str(home / "portico"))
    monkeypatch.setenv("PORTICO_TAP", str(home / "tap"))
    return home


@pytest.fixture(autouse=True)
def frame_watch(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FrameWatch]:
    """No test passes in which Portico sent a frame that the protocol does not allow."""
    watch = FrameWatch(own_home / "tap")
    monkeypatch.setattr("portico.acp.ends.Connection", watch.connection)
    yield watch
    watch.check()


@pytest.fixture
def portico(own_home: Path, frame_watch: FrameWatch, tmp_path: Path) -> Iterator[Portico]:
    """The program, as a person or a script would start it. What a test leaves running is a failure."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = Portico(own_home, workspace)
    yield program
    program.close()
