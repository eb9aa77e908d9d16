"""Resources of this machine for an offline model: memory for its context, and processors."""

import os
from pathlib import Path

from portico.porter.models.offline.model_files import OfflineFile

_CONTEXT_SHARE = 8
"""The context may take this fraction of the memory, as a divisor."""
_UNKNOWN_MEMORY = 4 * 1024**3
_SMALLEST_WINDOW = 4096
_STEP = 1024
_MOST_THREADS = 8
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def context_window(file: OfflineFile, memory: int | None = None) -> int:
    """Return the tokens of context that fit the memory, at most those that the model was trained for.

    It depends on the total memory, not on what is free now, so every process of a machine finds the same.
    """
    if not file.token_bytes:
        return file.window
    budget = (memory or total_memory()) // _CONTEXT_SHARE
    fitting = budget // file.token_bytes // _STEP * _STEP
    return min(file.window, max(_SMALLEST_WINDOW, fitting))


def total_memory() -> int:
    """Return the memory of this machine, or of the container, in bytes."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        memory = _UNKNOWN_MEMORY  # Windows has no sysconf.
    try:
        return min(memory, int(_GROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or "max"
        return memory


def threads() -> int:
    """Return the number of threads for computing: one for each processor that this process may use."""
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:
        processors = os.cpu_count() or 1
    return max(1, min(_MOST_THREADS, processors))


def thread_variables() -> dict[str, str]:
    """Variables that let threads sleep while they wait for each other.

    By default they spin, and on a busy machine keep the others from the processor: 0.5 tokens a second with two
    threads on two cores, against 3.2 with these.
    """
    return {"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "passive"}
