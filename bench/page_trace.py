"""What Chromium's own trace tells of the main thread of a page: its tasks, and how each key came to be painted."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from bench.report import MeasurementFailed

# Tasks with the processor's time beside the clock's, input events, and the names of threads.
CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]
_TASKS = ("ThreadControllerImpl::RunTask", "RunTask")


class Key(msgspec.Struct, frozen=True):
    """Seconds from a key: until the page had dealt with it, and until its picture was handed to the display.

    `work` is how long the main thread kept a processor busy between the key and its picture, with whatever.
    What is left of `painted` is waiting: for the display's next turn, and for a processor.
    """

    handled: float
    work: float
    painted: float


class _Task(msgspec.Struct, frozen=True):
    """In microseconds, by the clock of the trace."""

    begin: float
    duration: float
    work: float

    def within(self, begin: float, end: float) -> float:
        """How much of its work falls between two moments."""
        shared = min(end, self.begin + self.duration) - max(begin, self.begin)
        return self.work * shared / self.duration if shared > 0 else 0.0


def longest_task(trace: bytes) -> float:
    """Processor seconds of the longest task."""
    return max(task.work for task in _tasks(_events(trace))) / 1e6


def typed_keys(trace: bytes, since: float) -> Sequence[Key]:
    """The keys that were pressed from a moment on, in milliseconds by the clock of the page."""
    events = _events(trace)
    tasks = list(_tasks(events))
    pressed, changed = (_inputs(events, kind, since) for kind in ("keydown", "input"))
    if not pressed or len(pressed) != len(changed):
        raise MeasurementFailed("the trace does not tell how the page took each key")
    return [_key(down, change, tasks) for down, change in zip(pressed, changed, strict=True)]


def _key(down: dict[str, Any], change: dict[str, Any], tasks: Iterable[_Task]) -> Key:
    told, begin = down["args"]["data"], float(down["ts"])
    if not told.get("commitFinishTime"):
        raise MeasurementFailed("this Chromium does not tell when a key was painted")
    painted = told["commitFinishTime"] - told["timeStamp"]
    return Key(
        handled=(change["args"]["data"]["processingEnd"] - told["timeStamp"]) / 1e3,
        work=sum(task.within(begin, begin + painted * 1e3) for task in tasks) / 1e6,
        painted=painted / 1e3,
    )


def _inputs(events: Iterable[dict[str, Any]], kind: str, since: float) -> list[dict[str, Any]]:
    found = [
        one
        for one in events
        if one["name"] == "EventTiming"
        and one["ph"] == "b"
        and one["args"]["data"]["type"] == kind
        and one["args"]["data"]["timeStamp"] >= since
    ]
    return sorted(found, key=lambda one: float(one["ts"]))


def _tasks(events: Sequence[dict[str, Any]]) -> Iterator[_Task]:
    """Each task once, of the main thread of the page."""
    main = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    names = {one["name"] for one in events}
    task = next((name for name in _TASKS if name in names), None)
    if task is None:
        raise MeasurementFailed("the trace of the page has no tasks")
    for one in events:
        if one["name"] == task and one["ph"] == "X" and (one["pid"], one["tid"]) in main and one.get("dur"):
            yield _Task(begin=one["ts"], duration=one["dur"], work=one.get("tdur", one["dur"]))


def _events(trace: bytes) -> Sequence[dict[str, Any]]:
    events: Sequence[dict[str, Any]] = json.loads(trace)["traceEvents"]
    return events
