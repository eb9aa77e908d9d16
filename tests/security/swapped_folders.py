"""Uses files of a workspace while another program swaps a folder of it for a link that leads out, again and again.

A program of its own for a long run: `python -m tests.security.swapped_folders [tries] [room …]`.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.domain.errors import InvalidInput, PorticoError
from portico.doors.api.session_messages import read_attachment
from portico.editors.files import LocalFiles
from portico.porter.files import DiskFiles
from portico.porter.workspace import Workspace
from portico.prompts.catalog import PromptCatalog
from portico.prompts.directories import PromptDirectory
from portico.review.acp.change_request import AskedChange, ChangeReader
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.files.atomic_apply import Applier
from portico.review.files.disk import Disk
from portico.review.files.file_swap import ChangedMeanwhile, FileSwap, SwapTarget
from portico.review.files.rollbacks import Rollbacks
from portico.review.proposals.conflict_resolution import ConflictResolver
from portico.review.text.change_set import ChangeSet, digest_of
from portico.review.working_copies.ignored_files import IgnoredFileCopier
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.record import BaseEntry
from portico.review.working_copies.tree import CopyTree
from portico.sessions.content.attachments import read_attachments
from portico.testing.clock import ManualClock
from tests.review.folders import change

_T = TypeVar("_T")
_AT_ONCE = 100
_PATIENCE = 30.0

INSIDE = "inside\n"
OUTSIDE = "a secret of others\n"
WRITTEN = "written\n"

_SWAPPER = """
import ctypes, os, sys, time
here, there, pause = *map(os.fsencode, sys.argv[1:3]), float(sys.argv[3])
library = ctypes.CDLL(None)
exchange = (lambda: library.renameat2(-100, here, -100, there, 2)) if sys.platform == "linux" else (
    lambda: library.renamex_np(here, there, 2)
)
print("ready", flush=True)
end = time.monotonic() + 3600
while time.monotonic() < end:
    for _ in range(1000):
        exchange()
        if pause:
            time.sleep(pause)
"""
"""Exchanges two names at once, so that one of both is always there."""


class Ground:
    """A workspace with a folder `swapped`, which is a link to `outside` every other moment."""

    def __init__(self, top: Path) -> None:
        self.workspace = top / "workspace"
        self.outside = top / "outside"
        self.state = top / "state"
        self.state.mkdir(parents=True)
        self.more: list[str] = []
        self.pause_seconds = 0.0
        for folder, text in ((self.workspace / "swapped", INSIDE), (self.outside, OUTSIDE)):
            (folder / "inner").mkdir(parents=True)
            (folder / "file.txt").write_text(text)
            (folder / "inner" / "file.txt").write_text(text)
        (self.workspace / "link").symlink_to(self.outside)

    @contextmanager
    def swapping(self) -> Iterator[None]:
        names = (str(self.workspace / "swapped"), str(self.workspace / "link"), str(self.pause_seconds))
        with subprocess.Popen([sys.executable, "-c", _SWAPPER, *names], stdout=subprocess.PIPE) as swapper:
            try:
                assert swapper.stdout is not None
                swapper.stdout.readline()
                yield
            finally:
                swapper.kill()

    def intruders(self) -> list[str]:
        """Files outside that the test did not put there."""
        known = {"inner": None, "file.txt": OUTSIDE, "inner/file.txt": OUTSIDE}
        expected = known | dict.fromkeys(self.more, OUTSIDE)
        found = {
            path.relative_to(self.outside).as_posix(): None if path.is_dir() else path.read_text()
            for path in self.outside.rglob("*")
        }
        return sorted(
            name for name in found.keys() | expected.keys() if found.get(name, "") != expected.get(name, "")
        )


Room = Callable[[Ground], Callable[[int], str]]
"""Made ready on a ground, it uses a file once for each number, and tells what it read."""


def editor_reads(ground: Ground) -> Callable[[int], str]:
    files = LocalFiles(ground.workspace)
    return lambda number: _run(files.read_text(_some_file(number)))


def editor_writes(ground: Ground) -> Callable[[int], str]:
    files = LocalFiles(ground.workspace)

    def write(number: int) -> str:
        _run(files.write_text(_some_file(number), WRITTEN))
        return ""

    return write


def apply_writes(ground: Ground) -> Callable[[int], str]:
    applier = Applier(ground.state / "applies")

    def apply(number: int) -> str:
        path = _some_file(number)
        try:
            old = (ground.workspace / path).read_bytes()
        except OSError:
            old = None
        new = f"{WRITTEN}{number}\n".encode()
        applier.apply(ground.workspace, ChangeSet((change(path, old, new),)))
        return ""

    return apply


def apply_removes(ground: Ground) -> Callable[[int], str]:
    applier = Applier(ground.state / "applies")
    files = LocalFiles(ground.workspace)

    def apply(number: int) -> str:
        path = f"swapped/{('file.txt', 'inner/file.txt')[number % 2]}"
        with contextlib.suppress(PorticoError):
            _run(files.write_text(path, INSIDE))
        old = (ground.workspace / path).read_bytes()
        applier.apply(ground.workspace, ChangeSet((change(path, old, None),)))
        return ""

    return apply


def conflict_reads(ground: Ground) -> Callable[[int], str]:
    """The person's side of a conflict is shown to them, and what they resolve goes to the agent."""

    def sides(number: int) -> str:
        resolver = ConflictResolver(ground.workspace, Disk())
        return str(resolver.sides(change(_some_file(number), b"base", b"agent")).person)

    return sides


def proposed_reads(ground: Ground) -> Callable[[int], str]:
    def read(number: int) -> str:
        reader = ChangeReader(ground.workspace, ground.workspace)
        asked = AskedChange(path=_some_file(number), operation="update", new_content="new\n")
        (read,) = reader.read([asked]).changes.changes
        return "" if read.old is None else str(read.old.data)

    return read


def working_copy_reads(ground: Ground) -> Callable[[int], str]:
    tree = _tree(ground)

    def read(number: int) -> str:
        found = tree.find_file(_some_file(number), limit=1000)
        return "" if found is None else str(found.data)

    return read


def working_copy_writes(ground: Ground) -> Callable[[int], str]:
    tree = _tree(ground)
    data = WRITTEN.encode()
    entry = BaseEntry(digest_of(data), len(data), 0o644)

    def write(number: int) -> str:
        if number % 4 == 0:
            tree.remove(_some_file(number))
        elif tree.put(_some_file(number), entry, data) is None:
            raise InvalidInput("It was refused.")
        return ""

    return write


def working_copy_carries(ground: Ground) -> Callable[[int], str]:
    """Ignored folders are copied for the agent."""

    def carry(number: int) -> str:
        top = ground.state / "carried"
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir()
        IgnoredFileCopier(ground.workspace, top, WorkingCopyBounds(), (), threading.Event()).carry(
            ["swapped"]
        )
        return _texts(top)

    return carry


def checkpoint_reads(ground: Ground) -> Callable[[int], str]:
    """Git itself reads the files of a checkpoint, many at once."""
    paths = [f"swapped/inner/{number}.txt" for number in range(_AT_ONCE)]
    ground.pause_seconds = 0.0001  # Git gives up as soon as it sees one link, so it has to see few.
    for path in paths:
        (ground.workspace / path).write_text(INSIDE)
        ground.more.append(path.removeprefix("swapped/"))
        (ground.outside / ground.more[-1]).write_text(OUTSIDE)

    async def create(number: int) -> str:
        checkpoints = Checkpoints(ground.state / f"checkpoints-{number}", os.environ, ManualClock())
        taken = await checkpoints.create(ground.workspace, "before the turn")
        return str(await checkpoints.contents(ground.workspace, taken.id, paths))

    return lambda number: "" if number % _AT_ONCE else _run(create(number))


def restore_writes(ground: Ground) -> Callable[[int], str]:
    """A restore moves files into their places, each from its staging folder."""
    swap = FileSwap(
        ground.workspace, ground.state / "restore", ".portico-restore-", Rollbacks(ground.state / "told")
    )

    def restore(number: int) -> str:
        path = _some_file(number)
        staging = swap.stage()
        try:
            (staging.new / "0").write_text(WRITTEN)
            there = (ground.workspace / path).exists()
            staged = None if there and number % 4 == 0 else 0
            swap.perform(staging, [SwapTarget(path, there, staged)], swap.look([path]))
        finally:
            swap.undo()
            staging.remove()
        return ""

    return restore


def prompt_reads(ground: Ground) -> Callable[[int], str]:
    (ground.outside / "note.md").write_text(OUTSIDE)
    ground.more.append("note.md")
    (ground.workspace / "swapped" / "note.md").write_text(INSIDE)
    own = ground.workspace / "swapped"
    catalog = PromptCatalog([PromptDirectory(path=own, origin="workspace", boundary=ground.workspace)])
    return lambda _: str(catalog.find("note"))


def porter_reads(ground: Ground) -> Callable[[int], str]:
    files = DiskFiles(Workspace(ground.workspace))
    return lambda number: _run(files.read(ground.workspace / _some_file(number)))


def porter_writes(ground: Ground) -> Callable[[int], str]:
    files = DiskFiles(Workspace(ground.workspace))

    def write(number: int) -> str:
        _run(files.write(ground.workspace / _some_file(number), WRITTEN))
        return ""

    return write


def attachment_reads(ground: Ground) -> Callable[[int], str]:
    def read(number: int) -> str:
        path = one_of("path", _some_file(number))
        thing = read_attachment(pb.Attachment(source=path), ground.workspace)
        return b"".join(map(bytes, _run(read_attachments([thing])))).decode()

    return read


def _tree(ground: Ground) -> CopyTree:
    return CopyTree(
        ground.workspace, ground.workspace, waiting=ground.state / "waiting", standing=ground.workspace
    )


def _texts(top: Path) -> str:
    """The texts of all files, none of them behind a link."""
    files = (Path(folder, name) for folder, _, names in os.walk(top) for name in names)
    return "".join(file.read_text() for file in files if not file.is_symlink())


ROOMS: dict[str, Room] = {
    "editor reads": editor_reads,
    "editor writes": editor_writes,
    "apply writes": apply_writes,
    "apply removes": apply_removes,
    "conflict reads": conflict_reads,
    "proposed reads": proposed_reads,
    "working copy reads": working_copy_reads,
    "working copy writes": working_copy_writes,
    "working copy carries": working_copy_carries,
    "checkpoint reads": checkpoint_reads,
    "restore writes": restore_writes,
    "prompt reads": prompt_reads,
    "porter reads": porter_reads,
    "porter writes": porter_writes,
    "attachment reads": attachment_reads,
}


_RUNNER = asyncio.Runner()


def _run(use: Coroutine[Any, Any, _T]) -> _T:
    return _RUNNER.run(use)


def _some_file(number: int) -> str:
    return ("swapped/file.txt", "swapped/inner/file.txt", f"swapped/new/{number % 50}.txt")[number % 3]


class Outcome:
    """Numbers of tries that were made, succeeded, were refused, and touched a file outside."""

    def __init__(self) -> None:
        self.tries = self.done = self.refused = self.outside = 0

    def __str__(self) -> str:
        return f"{self.tries} tries, {self.done} done, {self.refused} refused, {self.outside} outside"


def race(ground: Ground, room: Room, tries: int) -> Outcome:
    """Use files `tries` times while the folder is swapped, and until one use went through.

    On a busy machine, the folder may stay a link for longer than all tries take.
    """
    outcome = Outcome()
    use = room(ground)
    deadline = time.monotonic() + _PATIENCE
    with ground.swapping():
        while outcome.tries < tries or (not outcome.done and time.monotonic() < deadline):
            number = outcome.tries
            outcome.tries += 1
            try:
                outcome.outside += OUTSIDE.strip() in use(number)
                outcome.done += 1
            except (PorticoError, ChangedMeanwhile, OSError):
                outcome.refused += 1
    outcome.outside += len(ground.intruders())
    return outcome


def main(tries: int, rooms: list[str]) -> None:
    for name in rooms or ROOMS:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            outcome = race(Ground(Path(os.path.realpath(folder))), ROOMS[name], tries)
            print(f"{name}: {outcome} ({time.monotonic() - begun:.1f} s)", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, sys.argv[2:])
