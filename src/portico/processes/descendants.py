"""Descendants of a process as the kernel lists them, identified by pid and start time.

Linux tells by `/proc`; elsewhere only a group as a whole can be asked about. A process is known by its
number and its start time together, so a number that was reused does no harm.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple, Self

_PROC = Path("/proc")
_DEAD = {"Z", "X", "x"}


class Descendant(NamedTuple):
    pid: int
    group: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process that has this number now."""
        facts = _facts(pid)
        return cls(pid, facts.group, facts.started) if facts else None

    def is_alive(self) -> bool:
        facts = _facts(self.pid)
        return facts is not None and facts.started == self.started and facts.state not in _DEAD

    def send(self, number: int) -> None:
        """Send a signal, unless the number now belongs to another process."""
        if not self.is_alive():
            return
        try:
            os.kill(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return


class _Facts(NamedTuple):
    state: str
    group: int
    started: str

    @classmethod
    def parse(cls, stat: str) -> Self:
        # The second field is the program's name in brackets, and the name may hold anything.
        fields = stat.rpartition(")")[2].split()
        return cls(state=fields[0], group=int(fields[2]), started=fields[19])


def _facts(pid: int) -> _Facts | None:
    try:
        return _Facts.parse((_PROC / str(pid) / "stat").read_text(errors="replace"))
    except OSError:
        return None


def descendants(root: int) -> list[Descendant]:
    """Every living process below `root`, where the kernel lists children; otherwise none."""
    found: dict[int, Descendant] = {}
    waiting = _children(root)
    while waiting:
        pid = waiting.pop()
        process = Descendant.of(pid)
        if pid not in found and process is not None:
            found[pid] = process
            waiting.extend(_children(pid))
    return list(found.values())


def _children(pid: int) -> list[int]:
    numbers: list[int] = []
    try:
        for task in (_PROC / str(pid) / "task").iterdir():
            numbers.extend(int(word) for word in (task / "children").read_text().split())
    except OSError:
        return numbers  # It ended while we looked, or this kernel does not tell.
    return numbers


def group_exists(group: int) -> bool:
    """Whether a process group has any member, be it one that is dead and waits to be collected."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False  # macOS refuses when only dead members are left.
    return True


def group_lives(group: int) -> bool:
    """Whether a group has a living member. Slower: it looks at every process, where the kernel tells.

    It matters in containers whose first process never collects the dead.
    """
    if not _PROC.is_dir():
        return group_exists(group)
    everybody = (_facts(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdecimal())
    return any(facts.group == group and facts.state not in _DEAD for facts in everybody if facts)
