"""No program outlives the process that started it, at whatever moment that process is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes.orphan_host import MOMENTS, whenever_the_parent_likes
from tests.rpc.process_tree import marked, members, new_mark, survivors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")

HOST = Path(__file__).with_name("orphan_host.py")


def host(moment: str, mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(HOST), moment], env=marked(os.environ, mark), stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("moment", [name for name in MOMENTS if name != whenever_the_parent_likes.__name__])
def test_nothing_survives_a_host_that_is_killed(moment: str) -> None:
    mark = new_mark()
    with host(moment, mark) as process:
        assert process.wait(timeout=30) == -signal.SIGKILL
    assert survivors(mark) == []


@pytest.mark.parametrize("spawns", range(1, 13))
def test_nothing_survives_a_host_that_is_killed_somewhere_in_its_spawning(spawns: int) -> None:
    mark = new_mark()
    with host(whenever_the_parent_likes.__name__, mark) as process:
        assert process.stdout is not None
        for _ in range(spawns):
            assert process.stdout.readline() == b"spawning\n"
        assert members(mark)
        process.kill()
        process.wait(timeout=30)
    assert survivors(mark) == []
