"""Watches whole families of real processes: each carries a mark in its environment."""

import time
import uuid
from collections.abc import Mapping
from pathlib import Path

import psutil

MARK = "PROCESS_TREE_MARK"


def new_mark() -> str:
    return uuid.uuid4().hex


def marked(environ: Mapping[str, str], mark: str) -> dict[str, str]:
    return {**environ, MARK: mark}


def members(mark: str) -> list[psutil.Process]:
    """Every living process that carries the mark."""
    return [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get(MARK) == mark and process.is_running()
    ]


def survivors(mark: str, *, seconds: float = 20) -> list[psutil.Process]:
    """Wait until no process carries the mark; the processes that still do at the deadline."""
    deadline = time.monotonic() + seconds
    while alive := members(mark):
        left = deadline - time.monotonic()
        if left <= 0:
            return alive
        # In slices: a dead process may have to be collected by its parent, and need not be waited for.
        psutil.wait_procs(alive, timeout=min(left, 0.1))
    return []


def script(folder: Path, name: str, text: str, *, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path
