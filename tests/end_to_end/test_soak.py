"""A hundred sessions stream at once: the soak of the benchmarks, bounded by turns instead of minutes."""

import subprocess
import sys
from pathlib import Path

from tests.support.processes import survivors
from tests.support.program import Portico

ROOT = Path(__file__).parents[2]


def test_a_hundred_sessions_over_five_agents_lose_nothing_and_leave_nothing(portico: Portico) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--turns", "2"],
        cwd=ROOT,
        env=portico.environ(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "200 turns, 40,000 updates, none lost or out of order" in done.stdout
    assert survivors(portico.mark) == []
