"""The memory that a program and all that it started use."""

import subprocess
from pathlib import Path

from portico.processes.descendants import descendants

_KIB = 1024
_PROC, _PS = Path("/proc"), Path("/bin/ps")


def used_megabytes(pid: int) -> int:
    """Resident memory of a process and its descendants; 0 where the system does not tell. Blocks."""
    if _PROC.is_dir():
        pids = [pid, *(process.pid for process in descendants(pid))]
        return sum(map(_resident_kib, pids)) // _KIB
    if _PS.exists():
        # The program leads its process group, and what it starts is in there too.
        told = subprocess.run(
            (str(_PS), "-o", "rss=", "-g", str(pid)), capture_output=True, text=True, check=False
        )
        return sum(int(word) for word in told.stdout.split() if word.isdecimal()) // _KIB
    return 0


def _resident_kib(pid: int) -> int:
    try:
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return 0
