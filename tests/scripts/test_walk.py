"""The way of a prompt, traced through a real server: composition happens before a turn, not in it."""

import sys

from scripts.trace_turn import Arrival, Length, Walk, trace_host

# It looks at the server's event loop now and then, and on a slow machine also in the middle of a turn.
TIMER = "server/watchdog"


def test_no_turn_goes_through_the_packages_that_put_portico_together() -> None:
    walk = trace_host(sys.executable)
    modules = [arrival.module for arrival in walk.arrivals]
    in_turn = walk.arrivals[modules.index("sessions/turn") :]
    assert {"chains", "conductor", "review"} <= {arrival.package for arrival in in_turn}
    entered = {one.module for one in in_turn if one.package in ("app", "server", "cli")}
    assert entered <= {TIMER}


def test_work_that_runs_at_the_same_time_is_one_stay_as_it_reads() -> None:
    """A door starts a turn, which runs in turns with the checkpoint that it waits for."""
    calls = [
        ("doors/calls", None),
        ("sessions/turn", "doors/calls"),
        ("review/checkpoint", "sessions/turn"),
        ("sessions/journal", "sessions/turn"),
        ("review/snapshot", "review/checkpoint"),
        ("doors/stream", "doors/calls"),
    ]
    walk = Walk("example", [Arrival(*pair) for pair in calls])
    assert walk.as_it_ran == Length(visits=6, re_entries=3)
    assert walk.as_it_reads == Length(visits=5, re_entries=2)
    assert [module for _, module in walk.tree] == [
        "doors/calls",
        "sessions/turn",
        "review/checkpoint",
        "review/snapshot",
        "sessions/journal",
        "doors/stream",
    ]
