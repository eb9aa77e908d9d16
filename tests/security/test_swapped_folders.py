"""A folder that is swapped for a link between the look at a path and its use leads nobody out of the workspace."""

import os
import sys
from pathlib import Path

import pytest

from tests.security.swapped_folders import ROOMS, Ground, race

TRIES = 200

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and exchanged names are POSIX")


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_outside_is_read_or_written(tmp_path: Path, room: str) -> None:
    outcome = race(Ground(Path(os.path.realpath(tmp_path))), ROOMS[room], TRIES)
    assert outcome.outside == 0, outcome
    assert outcome.done > 0, outcome
