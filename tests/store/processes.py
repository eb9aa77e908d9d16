"""Starts the programs of `programs`, and ends them however the test ends."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

DEADLINE = 30
ROOT = Path(__file__).parents[2]


class Program:
    def __init__(self, process: Process) -> None:
        self.process = process

    async def line(self) -> str:
        """The next thing it says; empty at its end."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            return (await self.process.stdout.readline()).decode().rstrip("\n")

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")

    async def kill(self) -> None:
        """As the system would, without a word."""
        self.process.kill()
        async with asyncio.timeout(DEADLINE):
            await self.process.wait()

    async def ended(self) -> int:
        async with asyncio.timeout(DEADLINE):
            return await self.process.wait()


@asynccontextmanager
async def running(program: str, folder: Path, *names: str) -> AsyncIterator[list[Program]]:
    """The program once for each name."""
    programs = [
        Program(
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.store.programs", program, str(folder), name),
                stdin=PIPE,
                stdout=PIPE,
                cwd=ROOT,
            )
        )
        for name in names
    ]
    try:
        yield programs
    finally:
        for each in programs:
            if each.process.returncode is None:
                await each.kill()
