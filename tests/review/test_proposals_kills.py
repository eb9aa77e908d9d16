"""Whenever Portico is killed, files and what is said of them agree: decided and written, or neither."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from portico.review.files.atomic_apply import Applier
from portico.review.files.disk import Disk
from portico.review.proposals.lifecycle import Proposals
from portico.testing.clock import ManualClock
from tests.review.folders import fill, seen
from tests.review.killed_applies import CHANGES, FILES
from tests.review.test_apply_kills import FailingDisk, Killed

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes are POSIX")


def run(what: str, home: Path, rounds: int) -> dict[str, int]:
    program = [sys.executable, "-m", "tests.review.killed_proposals", what, str(home), "11", str(rounds)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, int] = json.loads(done.stdout)
    return found


def test_150_kills_of_applies_and_undos_leave_a_record_that_is_true_of_the_files(tmp_path: Path) -> None:
    found = run("proposals", tmp_path, 150)
    assert found.pop("before", 0) + found.pop("after", 0) == 150, found
    assert found.pop("interrupted") > 10
    assert {kind: count for kind, count in found.items() if count} == {"packs": 1}


def test_50_kills_of_restores_lose_nothing_that_the_person_had_changed(tmp_path: Path) -> None:
    found = run("restores", tmp_path, 50)
    assert found.pop("before") + found.pop("after") == 50, found
    assert found.pop("interrupted") > 0
    assert found.keys() == {"ended"}


@pytest.mark.parametrize("deciding", ["apply", "undo"])
def test_a_kill_at_any_call_to_the_disk_leaves_a_record_that_is_true_of_the_files(
    tmp_path: Path, deciding: str
) -> None:
    def proposals(disk: Disk | None = None) -> Proposals:
        return Proposals(tmp_path / "proposals", Applier(tmp_path / "applies", disk=disk), ManualClock())

    work = tmp_path / "work"
    fill(work, FILES)
    before = seen(work)
    proposal = proposals().put("s", work, CHANGES, "turn")
    assert proposal is not None
    proposals().apply(proposal.id, 1)
    after = seen(work)
    outcomes: set[bool] = set()
    for at in range(1, 300):
        standing = proposals().get(proposal.id)
        if standing.can_undo is (deciding == "apply"):
            decide = proposals().undo if standing.can_undo else proposals().apply
            standing = decide(standing.id, standing.revision).proposal
        disk = FailingDisk(at, Killed)
        dying = proposals(disk)
        try:
            (dying.apply if deciding == "apply" else dying.undo)(standing.id, standing.revision)
        except Killed:
            pass
        found = proposals().get(proposal.id)
        assert seen(work) == (after if found.can_undo else before), f"killed at call {at}"
        outcomes.add(found.can_undo)
        if disk.calls < at:
            break
    else:
        pytest.fail("The decision never got through.")
    assert outcomes == {True, False}
