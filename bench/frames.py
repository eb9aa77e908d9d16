"""A million broken frames in every direction: deaths, hangs, and whether memory stays flat.

Takes minutes, so it runs only when it is named: `python -m bench frames`.
"""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import psutil

from bench.children import PORTICO, environment
from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from portico.rpc.streams import PipeStream
from tests.support.fuzz_targets import HANG_SECONDS, TARGETS, Round, Unforeseen, Wire
from tests.support.mutated_frames import FROM_CLIENT, Json, Mutator

FRAMES = int(os.environ.get("PORTICO_BENCH_FRAMES", "1000000"))
_ROUND = 5_000
_GROWTH = Budget("at most", 1.1)

Open = Callable[[Path], AbstractAsyncContextManager[Round]]


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder, Unforeseen() as unforeseen:
        waits, sizes, thrown = asyncio.run(_throw(Path(folder)))
    if unforeseen.found:
        raise MeasurementFailed(f"unforeseen: {next(iter(unforeseen.found.values()))}")
    quarter = max(1, len(sizes) // 4)
    early, late = Samples(tuple(sizes[quarter : 2 * quarter] or sizes)), Samples(tuple(sizes[-quarter:]))
    return Section(
        title="Broken frames",
        lines=(
            Line(
                what="longest round of 5,000, answers included",
                samples=Samples((max(waits),)),
                unit="seconds",
            ),
            Line(what="memory in the second quarter", samples=early, unit="bytes"),
            Line(what="memory in the last quarter", samples=late, unit="bytes"),
            Line(
                what="growth of memory",
                samples=Samples((late.median / early.median,)),
                unit="ratio",
                budget=_GROWTH,
            ),
        ),
        notes=(
            f"{thrown:,} frames, 0 deaths, 0 answers that took over {HANG_SECONDS:g} s, 0 unforeseen errors.",
        ),
    )


async def _throw(folder: Path) -> tuple[list[float], list[int], int]:
    """Each target in turn until there were enough; how long each round took, and the memory after it."""
    targets: list[tuple[str, Open, Sequence[Json]]] = [
        *((name, opened, frames) for name, (opened, frames) in TARGETS.items()),
        ("portico agent", _program("agent"), FROM_CLIENT),
        ("portico acp", _program("acp"), FROM_CLIENT),
    ]
    waits: list[float] = []
    sizes: list[int] = []
    thrown = 0
    while thrown < FRAMES:
        for name, opened, frames in targets:
            started = time.perf_counter()
            try:
                async with opened(folder) as target:
                    await target.throw(Mutator(thrown, frames), _ROUND)
            except (TimeoutError, AssertionError, EOFError) as error:
                raise MeasurementFailed(f"{name} died or hung at seed {thrown}: {error!r}") from error
            waits.append(time.perf_counter() - started)
            thrown += _ROUND
        sizes.append(psutil.Process().memory_info().rss)
    return waits, sizes, thrown


def _program(*arguments: str) -> Open:
    """The real program as a target."""

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Round]:
        process = await asyncio.create_subprocess_exec(
            PORTICO,
            *arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(folder),
            cwd=folder,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        client = Wire(PipeStream(process.stdout, process.stdin))
        reading = asyncio.create_task(client.run())
        try:
            client.send(json.dumps(FROM_CLIENT[0]).encode())
            yield Round(client, client)
            assert process.returncode is None, f"it ended with {process.returncode}"
        finally:
            await client.stream.close()
            await asyncio.wait_for(process.wait(), HANG_SECONDS)
            await reading

    return opened
