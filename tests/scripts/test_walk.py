"""The way of a prompt, traced through a real server: composition happens before a turn, not in it."""

import sys

from scripts.trace_turn import trace_host

# It looks at the server's event loop now and then, and on a slow machine also in the middle of a turn.
TIMER = "server/watchdog"


def test_no_turn_goes_through_the_packages_that_put_portico_together() -> None:
    walk = trace_host(sys.executable)
    modules = [arrival.module for arrival in walk.arrivals]
    in_turn = walk.arrivals[modules.index("sessions/turn") :]
    assert {"chains", "conductor", "review"} <= {arrival.package for arrival in in_turn}
    entered = {one.module for one in in_turn if one.package in ("app", "server", "cli")}
    assert entered <= {TIMER}
