"""Time that Portico adds to a model call: from prompt to endpoint, and from its first token to a door.

Beside it stands a bare call with pydantic-ai, which asks the same endpoint and keeps nothing.
"""

import json
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import msgspec

from bench.children import PYTHON, ROOT, found_by
from bench.report import Budget, Line, Section, ratio
from bench.samples import sample, take_turns
from portico.domain import codecs

ROUNDS = 3
CALLS = 12
MODEL = "bench:m"


class Moments(msgspec.Struct, frozen=True):
    """Times of an endpoint's last request and of its first token, by the clock that all processes share."""

    asked: float
    spoke: float


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """Times of one contender, in seconds: from a prompt `there`, from the first token `back`.

    `first` is from the start of the program to the endpoint; the others are medians of later calls.
    """

    first: float
    there: float
    back: float


class Stopwatch:
    """Times the calls of a contender that began at `started`."""

    def __init__(self, address: str, started: float) -> None:
        self._address = address
        self._started = started
        self._first: float | None = None
        self._there: list[float] = []
        self._back: list[float] = []

    def note(self, prompted: float, heard: float) -> None:
        """A call is over: when it was made, and when its first word was heard."""
        with urllib.request.urlopen(f"{self._address}/last", timeout=10) as answer:
            moments = codecs.decode_json(answer.read(), Moments)
        if self._first is None:
            self._first = moments.asked - self._started
            return
        self._there.append(moments.asked - prompted)
        self._back.append(heard - moments.spoke)

    @property
    def calls(self) -> Calls:
        assert self._first is not None
        return Calls(
            first=self._first, there=statistics.median(self._there), back=statistics.median(self._back)
        )


def measure() -> Section:
    with tempfile.TemporaryDirectory() as name, endpoint() as address:
        home, workspace = Path(name) / "home", Path(name) / "workspace"
        workspace.mkdir()
        _use(home, address)
        bare, reading, writing = take_turns(
            {
                "bare": lambda: _calls("bare_model", address, workspace, home),
                "reading": lambda: _calls("hosted_model", address, workspace, home, "reads"),
                "writing": lambda: _calls("hosted_model", address, workspace, home),
            },
            ROUNDS,
        ).values()
    alone, with_checkpoint = (sample(rounds, attrgetter("there")) for rounds in (bare, writing))
    return Section(
        title="A call of a model",
        lines=(
            *_compared("prompt to endpoint", bare, reading, "there", Budget("at most", 4)),
            Line(what="prompt to endpoint, after a checkpoint", samples=with_checkpoint, unit="seconds"),
            ratio("  Portico with its checkpoint over bare", with_checkpoint, alone),
            *_compared("first word to caller", bare, reading, "back", Budget("at most", 5)),
            *_compared("program start to endpoint", bare, reading, "first", Budget("at most", 2)),
        ),
        notes=(
            "Portico has its agent in a program of its own, and shows nothing that is not in the log.",
            "Porter sends its instructions and tools along; the bare call sends one word.",
        ),
    )


def _compared(
    what: str, bare: Sequence[Calls], portico: Sequence[Calls], name: str, budget: Budget
) -> Iterator[Line]:
    theirs, ours = (sample(rounds, attrgetter(name)) for rounds in (bare, portico))
    yield Line(what=f"{what}, bare pydantic-ai", samples=theirs, unit="seconds")
    yield Line(what=f"{what}, Portico", samples=ours, unit="seconds")
    yield ratio("  Portico over bare", ours, theirs, budget)


def _calls(program: str, address: str, workspace: Path, home: Path, *more: str) -> Calls:
    started = str(time.perf_counter())
    return found_by(program, address, started, str(workspace), *more, home=home, result=Calls)


def _use(home: Path, address: str) -> None:
    """Let Porter know the endpoint."""
    folder = home / "config"
    folder.mkdir(parents=True)
    settings = {"model": MODEL, "models": {"bench": {"address": f"{address}/v1"}}}
    (folder / "settings.json").write_text(json.dumps(settings))


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of a model that answers at once, in a process of its own."""
    command = (PYTHON, "-m", "bench.programs.model_endpoint")
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
