"""The processes of one test: each carries a mark in its environment, and so does whatever it starts."""

import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.support.waiting import LOOK_AGAIN

MARK = "TEST_PROCESS_MARK"
AGENT = "portico.testing.agent"


def new_mark() -> str:
    return uuid.uuid4().hex


def members(mark: str) -> list[psutil.Process]:
    """Every living process that carries the mark."""
    return [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get(MARK) == mark and process.is_running()
    ]


def agents(mark: str) -> list[psutil.Process]:
    """Scripted agents among them; not the shell that is about to become one."""
    found = []
    for process in members(mark):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if AGENT in words and "exec" not in words and not words[0].endswith("sh"):
            found.append(process)
    return found


def child_scripts(script: Path) -> list[int]:
    """Ids of the processes below this one that run a Python script; not the shells that are about to."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if words[:2] == [sys.executable, str(script)]:
            found.append(process.pid)
    return found


def survivors(mark: str, *, seconds: float = 20) -> list[psutil.Process]:
    """Wait until no process carries the mark; the processes that still do at the deadline."""
    deadline = time.monotonic() + seconds
    while (alive := members(mark)) and (left := deadline - time.monotonic()) > 0:
        wait_for_death(alive, seconds=left)
    return alive


def wait_for_death(processes: Sequence[psutil.Process], *, seconds: float) -> list[psutil.Process]:
    """Processes still alive at the deadline. Dead ones are not waited for until they are collected."""
    deadline = time.monotonic() + seconds
    while (alive := [process for process in processes if lives(process)]) and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN)
    return alive


def lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
