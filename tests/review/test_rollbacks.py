"""Earlier versions that a rollback went around: how long a person can still get at them."""

import os
import time
from pathlib import Path

import pytest

from portico.review.files.rollbacks import Rollbacks
from portico.review.service import ReviewService
from portico.testing import ManualClock

DAY = 24 * 3600.0


@pytest.fixture
def reviews(tmp_path: Path) -> ReviewService:
    return ReviewService.at(tmp_path / "state", os.environ, ManualClock())


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Path of the earlier version of a file that the person changed before a rollback."""
    (tmp_path / "a.txt").write_text("earlier\n")
    record = Rollbacks(tmp_path / "state" / "rollbacks").begin("one", tmp_path / "work", "apply")
    record.spare("src/a.txt", tmp_path / "a.txt")
    (edit,) = record.finish().edits
    assert edit.earlier is not None
    return Path(edit.earlier)


def grow_old(earlier: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(earlier.parent.parent, (then, then))


def is_kept(earlier: Path) -> bool:
    """Whether the version is still there; its folder goes with it."""
    assert earlier.exists() == earlier.parent.parent.exists()
    return earlier.exists()


async def test_what_a_person_was_not_told_of_is_kept_however_old(
    tmp_path: Path, reviews: ReviewService, earlier: Path
) -> None:
    grow_old(earlier, days=400)
    await reviews.recover_all()
    assert is_kept(earlier)
    (told,) = await reviews.recover(tmp_path / "work")
    assert str(earlier) in str(told)
    await reviews.recover_all()
    assert is_kept(earlier), "The month begins when the person is told."


@pytest.mark.parametrize(("days", "kept"), [(29, True), (31, False)])
async def test_an_earlier_version_is_kept_for_a_month_after_it_was_told(
    tmp_path: Path, reviews: ReviewService, earlier: Path, days: int, kept: bool
) -> None:
    await reviews.recover(tmp_path / "work")
    grow_old(earlier, days)
    await reviews.recover_all()
    assert is_kept(earlier) is kept
