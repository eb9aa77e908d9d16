"""A dozen faults on a team of three nodes; `python -m bench.team_faults` has hundreds."""

import tempfile
from pathlib import Path

from bench.team_faults import run
from tests.support.postgres import PostgresServer, postgres

__all__ = ["postgres"]

FAULTS = 12


def test_a_team_loses_nothing_and_grants_nothing_by_itself_while_its_parts_fail(
    postgres: PostgresServer,
) -> None:
    # The paths of sockets have to be short.
    with tempfile.TemporaryDirectory(prefix="tf", dir="/tmp") as folder:
        report = run(FAULTS, 7, postgres, Path(folder), pause=0.2)
    assert report.problems == (), report
    assert sum(report.faults.values()) == FAULTS
    assert report.turns > 0
    assert report.shown > 0
