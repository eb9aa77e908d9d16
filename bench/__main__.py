"""`python -m bench [NAME …]`: measures, prints, and fails when a budget is missed by a wide margin."""

import argparse
import os
import platform
import sys
import time

from bench import end_to_end, initialize, memory, roundtrip, startup, tail, updates
from bench.report import MARGIN, MeasurementFailed, Section, Verdict, print_section

MEASUREMENTS = {
    "startup": startup.measure,
    "updates": updates.measure,
    "tail": tail.measure,
    "memory": memory.measure,
    "initialize": initialize.measure,
    "end_to_end": end_to_end.measure,
    "roundtrip": roundtrip.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Portico beside others.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only some of: {', '.join(MEASUREMENTS)}")
    names: list[str] = parser.parse_args().names
    if unknown := [name for name in names if name not in MEASUREMENTS]:
        parser.error(f"there is no measurement {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}")
    print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores", end="")
    print(f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "")
    started = time.monotonic()
    troubles: list[str] = []
    for name in names or MEASUREMENTS:
        try:
            section = MEASUREMENTS[name]()
        except MeasurementFailed as error:
            troubles.append(f"{name}: {error}")
            continue
        print_section(section)
        troubles += _missed(section)
    print(f"\n{time.monotonic() - started:.0f} s. ", end="")
    if troubles:
        print("Not everything is as it should be:", *troubles, sep="\n  ")
        return 1
    print(f"No budget is missed by more than the margin for noise, a factor of {MARGIN:g}.")
    return 0


def _missed(section: Section) -> list[str]:
    return [
        f"{section.title}: {line.what} misses its budget"
        for line in section.lines
        if line.verdict is Verdict.MISSED
    ]


if __name__ == "__main__":
    sys.exit(main())
