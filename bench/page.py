"""The chat page in Chromium: how an answer streams, how a long session opens, how typing feels meanwhile.

`python -m bench.page` measures this alone.
"""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from bench.chat_page import ChatPage, Shown, chat_page
from bench.left_session import OPENING, leave_session
from bench.page_trace import Key
from bench.report import Budget, Line, Section, Verdict, print_section, ratio
from bench.samples import Samples, sample, take_turns
from portico.domain.events import AnyPayload, TextDelta, ToolCompleted, ToolStarted

ROUNDS = 3
OPENINGS = 7
SMALL, LARGE = 40_000, 1_000_000
DELTAS = 1_000
SECONDS = 1.0
SHORT, LONG = 200, 20_000
KEYS, TYPED_SECONDS = 80, 15.0


def measure() -> Section:
    load = psutil.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for length in (SHORT, LONG):
            asyncio.run(leave_session(home / "portico", home / "workspace", _title(length), _said(length)))
        with chat_page(home) as page:
            return Section(
                title="The chat page in Chromium",
                lines=(*_streaming(page), *_typing(page), *_opening(page)),
                notes=(
                    "Work and tasks are processor time of the page's main thread, which a busy machine does not stretch;",
                    f"the other figures are by the clock. Load before: {load:.1f}.",
                ),
            )


def _streaming(page: ChatPage) -> Iterator[Line]:
    page.show(SMALL, DELTAS, SECONDS)
    grown = LARGE // SMALL
    small: list[Shown] = []
    large: list[Shown] = []
    traced: list[Shown] = []
    for _ in range(ROUNDS):
        small.append(page.show(SMALL, DELTAS, SECONDS))
        large.append(page.show(LARGE, DELTAS * grown, SECONDS * grown))
        traced.append(page.show(SMALL, DELTAS, SECONDS, trace=True))
    stream, painted = (sample(small, lambda one: one.stream), sample(small, lambda one: one.painted))
    yield Line(what=f"40 KB in {DELTAS:,} deltas: the stream", samples=stream, unit="seconds")
    yield Line(what="  first delta to last painted", samples=painted, unit="seconds")
    yield ratio("  painted over the stream", painted, stream, Budget("at most", 1.1))
    longest = sample(traced, lambda one: one.longest_task)
    yield Line(what="  longest task", samples=longest, unit="seconds", budget=Budget("at most", 0.05))
    waited = sample(small, lambda one: one.longest_wait)
    yield Line(what="  longest task over 50 ms by the clock", samples=waited, unit="seconds")
    little, much = sample(small, lambda one: one.work), sample(large, lambda one: one.work)
    yield Line(what="40 KB: all work of the page", samples=little, unit="seconds")
    yield Line(what="1 MB: all work of the page", samples=much, unit="seconds")
    yield ratio("1 MB over 40 KB", much, little, Budget("at most", 30))
    yield Line(
        what="1 MB: longest task by the clock",
        samples=sample(large, lambda one: one.longest_wait),
        unit="seconds",
    )


def _typing(page: ChatPage) -> Iterator[Line]:
    """Latency of a key while an answer streams.

    It is held to 16 ms: until the page has dealt with it, in all that the main thread does until it is painted,
    be it for the key or in its way, and until it is painted, by the clock and without the pauses that a busy
    machine makes in the middle of the page's tasks. A display shows sixty pictures a second, so
    beside anything that moves a key waits up to 16.7 ms for its turn, on a page with nothing but a field as well;
    both kinds of bare field are measured along, to tell what is the page's and what is the machine's.
    """
    length, deltas = int(SMALL * TYPED_SECONDS), int(DELTAS * TYPED_SECONDS)
    typed = take_turns(
        {
            "bare": lambda: page.bare_field.type(KEYS),
            "moving": lambda: page.bare_field.type(KEYS, beside_motion=True),
            "alone": lambda: page.type_alone(KEYS),
            "streaming": lambda: page.type_while(length, deltas, TYPED_SECONDS, KEYS),
        },
        ROUNDS,
    )

    def line(what: str, where: str, part: Callable[[Key], float], budget: Budget | None = None) -> Line:
        slowest = sample(typed[where], lambda keys: _tail([part(key) for key in keys]))
        return Line(what=what, samples=slowest, unit="seconds", budget=budget)

    budget = Budget("at most", 0.016)
    first = "a key while streaming, 95 of 100: dealt with"
    yield line(first, "streaming", lambda key: key.handled, budget)
    yield line("  all work until it is painted", "streaming", lambda key: key.work, budget)
    yield line("  painted, by the clock", "streaming", lambda key: key.painted, budget)
    yield line(
        "  painted, when nothing else uses the processor", "streaming", lambda key: key.undisturbed, budget
    )
    yield line("  painted, while nothing else happens", "alone", lambda key: key.painted)
    yield line("  painted, in a bare field", "bare", lambda key: key.painted)
    yield line("  painted, in a bare field beside a dot that pulses", "moving", lambda key: key.painted)
    yield line("  on the screen", "streaming", lambda key: key.shown)
    yield line("  on the screen, in a bare field", "bare", lambda key: key.shown)


def _opening(page: ChatPage) -> Iterator[Line]:
    taken: dict[int, list[float]] = {SHORT: [], LONG: []}
    for number in range(-1, OPENINGS):
        for length in sorted(taken, reverse=number % 2 == 1):
            seconds = page.open(_title(length), _last_words(length))
            if number >= 0:
                taken[length].append(seconds)
    short, long = (Samples(tuple(taken[length])) for length in (SHORT, LONG))
    yield Line(what=f"opening a session of {SHORT:,} events", samples=short, unit="seconds")
    yield Line(what=f"opening a session of {LONG:,} events", samples=long, unit="seconds")
    yield ratio("long over short", long, short, Budget("at most", 1.5))


def _tail(values: Sequence[float]) -> float:
    return float(statistics.quantiles(values, n=20)[-1])


def _title(length: int) -> str:
    return f"{length} events"


def _last_words(length: int) -> str:
    return f"Event {length} was the last"


def _said(count: int) -> Iterator[AnyPayload]:
    for seq in range(OPENING + 1, count):
        yield _payload(seq)
    yield TextDelta(text=_last_words(count))


def _payload(seq: int) -> AnyPayload:
    match seq % 10:
        case 8:
            return ToolStarted(
                tool_id=f"tool-{seq}", title="Read a file", tool_kind="read", status="in_progress"
            )
        case 9:
            return ToolCompleted(tool_id=f"tool-{seq - 1}", success=True, duration_ms=12)
        case _:
            return TextDelta(text=f"What is said in event {seq}, with **some** `words`.\n\n")


def main() -> int:
    section = measure()
    print_section(section)
    return 1 if any(line.verdict is Verdict.MISSED for line in section.lines) else 0


if __name__ == "__main__":
    sys.exit(main())
