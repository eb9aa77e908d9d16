"""A full disk: nothing changes, and once there is room the operation succeeds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# A disk of its own for one process and its children: it is gone when they are.
MOUNTED = 'mount -t tmpfs -o size=4m disk "$1" && shift && exec "$@"'
# A user who may create a namespace may mount there, without being root outside of it.
ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh")


def test_an_apply_a_restore_and_a_checkpoint_on_a_full_disk_leave_everything_and_say_so(
    tmp_path: Path,
) -> None:
    disk, elsewhere = tmp_path / "disk", tmp_path / "elsewhere"
    disk.mkdir()
    elsewhere.mkdir()
    program = (sys.executable, "-m", "tests.review.full_disk", disk, elsewhere)
    done = subprocess.run((*ALONE, disk, *program), capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert "No space left on device" in found["apply"]
    assert "everything is as it was" in found["apply"]
    assert "as it was" in found["restore"]
    assert "full" in found["checkpoint"] or "No space left" in found["checkpoint"]


@pytest.mark.parametrize(
    ("how", "reason"), [("full", "No space left on device"), ("read-only", "Read-only file system")]
)
def test_whatever_a_review_cannot_keep_it_says_why_and_what_to_do(
    tmp_path: Path, how: str, reason: str
) -> None:
    disk, elsewhere = tmp_path / "disk", tmp_path / "elsewhere"
    disk.mkdir()
    elsewhere.mkdir()
    program = (sys.executable, "-m", "tests.review.failing_disk", disk, elsewhere, how)
    done = subprocess.run((*ALONE, disk, *program), capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, str] = json.loads(done.stdout)
    refused = {name: text for name, text in found.items() if text != "done"}
    assert {"begin a turn", "go back", "open, direct", "open, proposal", "open, worktree"} <= refused.keys()
    for name, text in refused.items():
        assert reason in text, name
        assert "Free some space" in text, name
