"""Research for all sessions of a process: few at once, each question once, findings reused."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from portico.components.packages.errors import ResearchFailed
from portico.components.packages.library import PackageSource
from portico.components.packages.research.history import Findings, FindingsStore, findings_key
from portico.components.packages.shared_tasks import SharedTasks

Research = Callable[[], Awaitable[tuple[str, bool]]]
"""Asks an agent; the findings, and whether it returned them."""


class ResearchService:
    def __init__(self, environ: Mapping[str, str], *, seconds: float, most: int) -> None:
        self._store = FindingsStore(environ)
        self._seconds = seconds
        self._places = asyncio.Semaphore(most)
        self._running: SharedTasks[Findings] = SharedTasks()

    async def ask(self, source: PackageSource, question: str, research: Research) -> tuple[Findings, bool]:
        """Findings for a question, and whether they were there already. ResearchFailed if there are none in time."""
        key = findings_key(source, question)
        known = await asyncio.to_thread(self._store.find, key)
        if known is not None:
            return known, True
        found = await self._running.run(
            key, lambda: self._research(key, source, question, research), f"research in {source.name}"
        )
        return found, False

    async def _research(self, key: str, source: PackageSource, question: str, research: Research) -> Findings:
        async with self._places:
            begun = time.monotonic()
            try:
                async with asyncio.timeout(self._seconds):
                    answer, returned = await research()
            except TimeoutError as error:
                raise ResearchFailed(
                    f"The research did not end within {self._seconds:g} s and was stopped.",
                    suggestion="Ask something narrower, or use package_search and package_read yourself.",
                ) from error
        findings = Findings(
            key=key,
            ecosystem=source.name.ecosystem,
            name=source.name.name,
            version=source.version,
            question=question,
            answer=answer,
            at=time.time_ns() // 1_000_000,
            seconds=round(time.monotonic() - begun, 1),
            returned=returned,
        )
        await asyncio.to_thread(self._store.add, findings)
        return findings
