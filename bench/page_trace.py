"""Chromium's trace of a page's main thread: its tasks, and how each key came to be painted."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from bench.report import MeasurementFailed

# Tasks with the processor's time beside the clock's, input events, and the names of threads.
CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]
_TASKS = ("ThreadControllerImpl::RunTask", "RunTask")


class Key(msgspec.Struct, frozen=True):
    """Seconds from a key: until the page had dealt with it, had painted it, and had it on the screen.

    `work` is how long the main thread kept a processor busy between the key and its picture, with whatever.
    What is left of `painted` is waiting: for the display's next turn, and for a processor. `undisturbed` is
    without the pauses in the middle of tasks, which are what others take of the processor, and a little of what
    Chromium's own threads do meanwhile. What `shown` has beyond `painted` is Chromium's, which puts the picture
    together and hands it to the display.
    """

    handled: float
    work: float
    undisturbed: float
    painted: float
    shown: float


class _Task(msgspec.Struct, frozen=True):
    """In microseconds, by the clock of the trace."""

    begin: float
    duration: float
    work: float

    @property
    def end(self) -> float:
        return self.begin + self.duration

    def within(self, begin: float, end: float) -> "_Task":
        """The part of it between two moments."""
        shared = max(0.0, min(end, self.end) - max(begin, self.begin))
        return _Task(begin=max(begin, self.begin), duration=shared, work=self.work * shared / self.duration)


def longest_task(trace: bytes) -> float:
    """Processor seconds of the longest task."""
    return max(task.work for task in _tasks(_events(trace))) / 1e6


def typed_keys(trace: bytes, since: float, count: int) -> Sequence[Key]:
    """As many keys, pressed from a moment on, in milliseconds by the clock of the page."""
    events = _typed_in(_events(trace))
    pressed, changed = (_inputs(events, kind, since) for kind in ("keydown", "input"))
    if not len(pressed) == len(changed) == count:
        raise MeasurementFailed(f"the trace tells of {len(pressed)} keys, of {count}")
    tasks, pictures = list(_tasks(events)), _pictures(events)
    return [_key(down, change, tasks, pictures) for down, change in zip(pressed, changed, strict=True)]


def _key(
    down: dict[str, Any], change: dict[str, Any], tasks: Iterable[_Task], pictures: Iterable[_Task]
) -> Key:
    data, begin = down["args"]["data"], float(down["ts"])
    handled = (change["args"]["data"]["processingEnd"] - data["timeStamp"]) * 1e3
    painted = next((one.end - begin for one in pictures if one.begin >= begin + handled), None)
    if painted is None:
        raise MeasurementFailed("the trace does not tell when a key was painted")
    meanwhile = [task.within(begin, begin + painted) for task in tasks]
    return Key(
        handled=handled / 1e6,
        work=sum(task.work for task in meanwhile) / 1e6,
        undisturbed=(painted - sum(task.duration - task.work for task in meanwhile)) / 1e6,
        painted=painted / 1e6,
        shown=data["duration"] / 1e3,
    )


def _typed_in(events: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Work of the thread that handled the keys; other pages have their own threads."""
    threads = Counter(_thread(one) for one in events if one["name"] == "EventTiming")
    if not threads:
        raise MeasurementFailed("the trace does not tell of any key")
    [(thread, _)] = threads.most_common(1)
    return [one for one in events if _thread(one) == thread]


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


def _pictures(events: Iterable[dict[str, Any]]) -> Sequence[_Task]:
    """Times at which the page handed a picture over; everything it did before is in it."""
    found = [_task(one) for one in events if one["name"] == "Commit" and one["ph"] == "X"]
    return sorted(found, key=lambda one: one.begin)


def _tasks(events: Sequence[dict[str, Any]]) -> Iterator[_Task]:
    """Each task once, of the main thread of the page."""
    main = {
        _thread(one)
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    names = {one["name"] for one in events}
    task = next((name for name in _TASKS if name in names), None)
    if task is None:
        raise MeasurementFailed("the trace of the page has no tasks")
    for one in events:
        if one["name"] == task and one["ph"] == "X" and _thread(one) in main and one.get("dur"):
            yield _task(one)


def _task(event: dict[str, Any]) -> _Task:
    return _Task(begin=event["ts"], duration=event["dur"], work=event.get("tdur", event["dur"]))


def _thread(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]


def _events(trace: bytes) -> Sequence[dict[str, Any]]:
    events: Sequence[dict[str, Any]] = json.loads(trace)["traceEvents"]
    return events
