"""Cost of a checkpoint before a turn, and of comparing the files that a turn must not touch, beside `git status`."""

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, time_in_turns
from portico.processes.clock import SystemClock
from portico.review.service import ReviewService

FILES = 10_000
ROUNDS = 5
_IN_FOLDER = 20
_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost")


class _Folder:
    """A repository of many files, of which a checkpoint is there already."""

    def __init__(self, place: Path) -> None:
        self.root = place / "work"
        for number in range(FILES):
            path = self.root / f"part{number // _IN_FOLDER}" / f"file{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"value = {number}\n" * 20)
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=start")):
            self._git(*words)
        self._reviews = ReviewService.at(place / "state", os.environ, SystemClock())
        asyncio.run(self._kept())

    def by_git(self) -> float:
        started = time.perf_counter()
        self._git("status", "--porcelain")
        return time.perf_counter() - started

    def untouched(self) -> float:
        return asyncio.run(self._compared(None))

    def touched(self) -> float:
        return asyncio.run(self._compared(self.root / "part0" / "file0.py"))

    async def _kept(self) -> None:
        self._review = await self._reviews.open("kept", self.root, "direct")
        await self._review.begin_turn("keep all of it")

    def checkpoint(self) -> float:
        return asyncio.run(self._checkpoint(None))

    def changed_checkpoint(self) -> float:
        return asyncio.run(self._checkpoint(self.root / "part0" / "file0.py"))

    async def _checkpoint(self, changed: Path | None) -> float:
        """Seconds for a checkpoint in a host that runs already. What other contenders changed is kept before."""
        await self._review.begin_turn("keep what has changed")
        if changed is not None:
            await asyncio.to_thread(changed.write_text, f"{time.time_ns()}\n")
        started = time.perf_counter()
        await self._review.begin_turn("keep it again")
        return time.perf_counter() - started

    async def _compared(self, touched: Path | None) -> float:
        """Seconds that are added to a turn, before and after the agent's work."""
        started = time.perf_counter()
        await self._reviews.note_files("s1", self.root, "look")
        seconds = time.perf_counter() - started
        if touched is not None:
            await asyncio.to_thread(touched.write_text, f"{time.time_ns()}\n")
        started = time.perf_counter()
        found = await self._reviews.changed_outside("s1", self.root)
        seconds += time.perf_counter() - started
        if len(found) != (touched is not None):
            raise MeasurementFailed("a change outside the review was not found, or one that never was")
        return seconds

    def _git(self, *words: str) -> None:
        subprocess.run((*_GIT, *words), cwd=self.root, capture_output=True, check=True)


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        work = _Folder(Path(folder))
        contenders = {
            "git": work.by_git,
            "touched": work.touched,
            "untouched": work.untouched,
            "checkpoint": work.checkpoint,
            "changed": work.changed_checkpoint,
        }
        found: dict[str, Samples] = time_in_turns(contenders, ROUNDS)
    return Section(
        title=f"Comparison: checkpoints, and turns that must not touch a folder of {FILES:,} files",
        lines=(
            Line(what="git status", samples=found["git"], unit="seconds"),
            Line(what="checkpoint, nothing changed", samples=found["checkpoint"], unit="seconds"),
            ratio("  over git status", found["checkpoint"], found["git"], Budget("at most", 1.5)),
            Line(what="checkpoint, a file changed", samples=found["changed"], unit="seconds"),
            ratio("  over git status", found["changed"], found["git"]),
            Line(what="added to a turn in which nothing changed", samples=found["untouched"], unit="seconds"),
            ratio("  over git status", found["untouched"], found["git"], Budget("at most", 10)),
            Line(what="added to a turn in which a file changed", samples=found["touched"], unit="seconds"),
            ratio("  over git status", found["touched"], found["git"], Budget("at most", 15)),
        ),
        notes=(
            "A turn keeps what it has changed at its end, so that mostly nothing has changed before the next one.",
            "What is added is before the prompt and after the answer, together. A sandbox spares it.",
        ),
    )
