"""Updates per second that reach a person: through a host that logs them, and a client that only counts.

Every round starts both anew. The agent is the same program, and has started and answered once before
the clock does. The clock stops for the host when the end of the turn is in the log and a watching door
has seen it, for the other when its prompt is answered and every update was handled.
"""

import tempfile
from pathlib import Path

import msgspec

from bench.children import found_by
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, time_in_turns

COUNT = 20_000
ROUNDS = 5


class Flood(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one flood. `complete` is whether every character arrived."""

    seconds: float
    complete: bool


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        seconds = time_in_turns(
            {
                "sdk": lambda: _flood("flood_sdk_client", Path(folder)),
                "host": lambda: _flood("flood_host", Path(folder)),
            },
            ROUNDS,
        )
    sdk, host = (_rate(seconds[name]) for name in ("sdk", "host"))
    return Section(
        title=f"Updates: {COUNT:,} deltas of 40 characters, as fast as an agent can write them",
        lines=(
            Line(what="Python SDK client, no log", samples=sdk, unit="per second"),
            Line(what="Portico host, durable log, one door", samples=host, unit="per second"),
            ratio("Portico over SDK", host, sdk, Budget("at least", 3)),
        ),
        notes=("All the text arrived at both; Portico's was compared with the log, character by character.",),
    )


def _flood(program: str, folder: Path) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as home:
        flood = found_by(program, str(COUNT), home, home=Path(home), result=Flood)
    if not flood.complete:
        raise MeasurementFailed(f"{program} did not get all the text")
    return flood.seconds


def _rate(seconds: Samples) -> Samples:
    return Samples(tuple(COUNT / value for value in seconds.values))
