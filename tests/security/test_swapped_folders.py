"""A folder that is swapped for a link between the look at a path and its use does not lead out of the workspace."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from portico.domain.errors import PorticoError, StoreFailed
from portico.review.files.atomic_apply import Applier
from portico.review.files.disk import Disk
from portico.review.files.file_swap import ChangedMeanwhile, FileSwap, SwapTarget
from portico.review.files.rollbacks import Rollbacks
from portico.review.text.change_set import ChangeSet
from portico.review.working_copies.lifecycle import WorkingCopies
from tests.review.folders import change
from tests.review.trees import repository
from tests.security.swapped_folders import INSIDE, ROOMS, WRITTEN, Ground, race

TRIES = 200

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and exchanged names are POSIX")


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_outside_is_read_or_written(tmp_path: Path, room: str) -> None:
    outcome = race(Ground(Path(os.path.realpath(tmp_path))), ROOMS[room], TRIES)
    assert outcome.outside == 0, outcome
    assert outcome.done > 0, outcome


def swap(ground: Ground) -> None:
    """Put the link that leads out in the place of the folder, once."""
    if (ground.workspace / "link").is_symlink():
        (ground.workspace / "swapped").rename(ground.workspace / "aside")
        (ground.workspace / "link").rename(ground.workspace / "swapped")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(Path(os.path.realpath(tmp_path)))


@pytest.mark.parametrize("name", ["write_new", "keep", "rename", "remove", "make_folder"])
@pytest.mark.parametrize("path", ["swapped/file.txt", "swapped/inner/file.txt", "swapped/new/file.txt"])
def test_an_apply_changes_nothing_outside_whenever_the_folder_is_swapped(
    ground: Ground, name: str, path: str
) -> None:
    class SwappingDisk(Disk):
        """Has the folder swapped right before one of its calls."""

        def __getattribute__(self, asked: str) -> object:
            if asked == name:
                swap(ground)
            return super().__getattribute__(asked)

    old = INSIDE.encode() if (ground.workspace / path).exists() else None
    applier = Applier(ground.state / "applies", disk=SwappingDisk())
    with contextlib.suppress(PorticoError):
        applier.apply(ground.workspace, ChangeSet((change(path, old, b"new\n"),)))
    Applier(ground.state / "applies").recover()
    assert ground.intruders() == []


@pytest.mark.parametrize("swapped", ["the folder", "the staging folder"])
@pytest.mark.parametrize("moment", ["put", "remove", "commit"])
def test_a_restore_changes_nothing_outside_whenever_a_folder_is_swapped(
    ground: Ground, swapped: str, moment: str
) -> None:
    def step(told: str) -> None:
        if told.startswith(moment) and swapped == "the folder":
            swap(ground)
        elif told.startswith(moment) and not staging.new.is_symlink():
            for folder in (staging.new, staging.old):
                folder.rename(folder.with_name(f"{folder.name}-aside"))
                folder.symlink_to(ground.outside)

    rollbacks = Rollbacks(ground.state / "rollbacks")
    restore = FileSwap(ground.workspace, ground.state / "restore", ".portico-restore-", rollbacks, step)
    staging = restore.stage()
    (staging.new / "0").write_text(WRITTEN)
    (staging.new / "1").write_text(WRITTEN)
    wanted = [
        SwapTarget("swapped/file.txt", True, 0),
        SwapTarget("swapped/inner/file.txt", True, None),
        SwapTarget("swapped/new/file.txt", False, 1),
    ]
    seen = restore.look(["swapped/file.txt", "swapped/inner/file.txt"])
    with contextlib.suppress(PorticoError, ChangedMeanwhile, OSError):
        restore.perform(staging, wanted, seen)
    with contextlib.suppress(OSError):
        restore.undo()
    restore.sweep()
    assert ground.intruders() == []


async def test_an_agent_that_puts_a_link_in_the_place_of_its_folder_does_not_work_where_that_leads(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "work", inner__a__txt="a\n") / "inner"
    work.mkdir(exist_ok=True)
    places = WorkingCopies(tmp_path / "state", os.environ)
    place = await places.open(work, "s1")
    shutil.rmtree(place.folder)
    place.folder.symlink_to(tmp_path)
    with pytest.raises(StoreFailed, match="not a folder any more"):
        await places.open(work, "s1")
