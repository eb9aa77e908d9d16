"""Opens the last page of a session as a fresh process, then again and again: open_tail.py FOLDER"""

import asyncio
import statistics
import sys
import time
from pathlib import Path

import msgspec

from bench.tail import SESSION, Opening
from portico.store.sqlite import SqliteStore

PAGE = 200
REPEATS = 20


async def main() -> None:
    started = time.perf_counter()
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    try:
        await _show(store)
        cold = time.perf_counter() - started
        warm = statistics.median([await _timed(store) for _ in range(REPEATS)])
    finally:
        await store.close()
    sys.stdout.buffer.write(msgspec.json.encode(Opening(cold=cold, warm=warm)))


async def _timed(store: SqliteStore) -> float:
    started = time.perf_counter()
    await _show(store)
    return time.perf_counter() - started


async def _show(store: SqliteStore) -> None:
    summary = await store.summary(SESSION)
    page = await store.tail(SESSION, before_seq=None, limit=PAGE)
    assert summary is not None
    assert len(page) == PAGE
    assert page[-1].seq == summary.last_seq


if __name__ == "__main__":
    asyncio.run(main())
