"""The extension in a real VS Code: what its activation costs, how it posts a stream, how a hidden chat comes back.

`python -m bench editor` measures this alone.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path

import psutil
from playwright.async_api import Error

from bench.left_session import leave_session
from bench.programs.speaking_agent import END
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import sample, take_turns_waiting
from bench.vscode_window import VsCodeHome, VsCodeWindow, vscode_window
from portico.domain.events import AnyPayload, TextDelta
from tests.vscode.editor import VSIX

OPENINGS = 4
STREAMS = 3
LENGTH, DELTAS, SECONDS = 400_000, 10_000, 10.0
POSTS_A_SECOND = 60
RETURNS = 5
MINUTES = 10
_LONGEST_SECONDS = 420.0
_PORTICO, _EMPTY = "portico.portico", "bench.empty"
_LONG, _SHORT = "Long one", "Short one"
# Of a stream the log gets at most 60 events a second, however fast an agent speaks.
_LEFT = {_LONG: MINUTES * 60 * 60, _SHORT: 40}


def measure() -> Section:
    return asyncio.run(_measure())


async def _measure() -> Section:
    if not VSIX.is_file():
        raise MeasurementFailed("the extension is not packed: make vsix")
    load = psutil.getloadavg()[0]
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            async with asyncio.timeout(_LONGEST_SECONDS):
                lines = [line async for line in _lines(Path(folder))]
    except (AssertionError, Error, TimeoutError) as error:
        words = str(error).strip() or f"it took longer than {_LONGEST_SECONDS:.0f} s"
        raise MeasurementFailed(f"VS Code did not do its part: {words.splitlines()[0]}") from error
    return Section(
        title="The extension in VS Code",
        lines=tuple(lines),
        notes=(
            "Activation is loading the code and calling it, taken inside of the extension host, one after the other.",
            "Posts are counted there too, as they leave. A hidden chat has no page: coming back, it begins anew.",
            f"Load before: {load:.1f}.",
        ),
    )


async def _lines(folder: Path) -> AsyncIterator[Line]:
    home = VsCodeHome(folder)
    for title, events in _LEFT.items():
        await leave_session(home.portico, home.workspace, title, _said(events))
    async with vscode_window(home) as window:
        for part in (_activation, _streaming, _returning):
            async for line in part(window):
                yield line


async def _activation(window: VsCodeWindow) -> AsyncIterator[Line]:
    order = (_PORTICO, _EMPTY)
    rounds = [
        await window.open(*(order if number % 2 else reversed(order))) for number in range(-1, OPENINGS)
    ]
    portico, empty = ([one[name] for one in rounds[1:]] for name in order)
    for what, part in (("processor time", "processor"), ("by the clock", "clock")):
        mine, bare = (sample(those, attrgetter(part)) for those in (portico, empty))
        yield Line(what=f"activation, {what}", samples=mine, unit="seconds")
        yield Line(what="  of an extension that does nothing", samples=bare, unit="seconds")
        yield ratio("  over that", mine, bare)


async def _streaming(window: VsCodeWindow) -> AsyncIterator[Line]:
    answer = (LENGTH, DELTAS, SECONDS)
    streams = {
        "VS Code": partial(window.stream, *answer),
        "browser": partial(window.stream_in_browser, *answer),
    }
    taken = await take_turns_waiting(streams, STREAMS)
    rounds, browsed = taken["VS Code"], taken["browser"]
    stream, painted = sample(rounds, lambda one: one.stream), sample(rounds, lambda one: one.painted)
    limit = Budget("at most", POSTS_A_SECOND)
    yield Line(what=f"400 KB in {DELTAS:,} deltas: the stream", samples=stream, unit="seconds")
    posts = sample(rounds, lambda one: len(one.posts) / one.stream)
    yield Line(what="  posts to the page", samples=posts, unit="per second", budget=limit)
    busiest = sample(rounds, lambda one: one.busiest_second)
    yield Line(what="  posts in the busiest second", samples=busiest, unit="per second", budget=limit)
    yield Line(
        what="  deltas over posts", samples=sample(rounds, lambda one: DELTAS / len(one.posts)), unit="ratio"
    )
    behind, alone = (sample(those, lambda one: one.painted - one.stream) for those in (rounds, browsed))
    yield Line(what="  painted after its end", samples=behind, unit="seconds")
    yield Line(what="  the same of the page in a browser", samples=alone, unit="seconds")
    yield ratio("  painted over the stream", painted, stream)
    yield ratio(
        "  painted in VS Code over painted in a browser", painted, sample(browsed, lambda one: one.painted)
    )


async def _returning(window: VsCodeWindow) -> AsyncIterator[Line]:
    for title in _LEFT:
        await window.open_session(title)
    returns = {title: partial(window.come_back, title) for title in _LEFT}
    taken = await take_turns_waiting(returns, RETURNS)
    limit = Budget("at most", 1.5)
    long, short = (sample(taken[title], lambda one: one.since_click) for title in (_LONG, _SHORT))
    yield Line(what="a hidden chat comes back with one screen", samples=short, unit="seconds")
    yield Line(what=f"  with {MINUTES} minutes of streaming", samples=long, unit="seconds")
    yield ratio("  that over one screen", long, short, limit)
    long, short = (sample(taken[title], lambda one: one.since_page) for title in (_LONG, _SHORT))
    yield ratio("  the same from when VS Code has a page for it", long, short, limit)


def _said(events: int) -> Iterator[AnyPayload]:
    for number in range(1, events):
        yield TextDelta(text=f"Boat {number} came in by the tide" + (".\n\n" if number % 12 == 0 else ", "))
    yield TextDelta(text=END)
