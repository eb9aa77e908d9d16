"""`python -m bench [NAME …]`: measures, prints, and fails when a budget is missed by a wide margin."""

import argparse
import os
import platform
import subprocess
import sys
import time

import psutil

from bench import (
    chain,
    code,
    code_peers,
    comparison,
    doors,
    editor,
    end_to_end,
    frames,
    initialize,
    memory,
    model,
    offline_model,
    packages,
    page,
    prompts,
    prose,
    review,
    roundtrip,
    sandbox,
    search,
    skills,
    startup,
    tail,
    team,
    updates,
)
from bench.report import MARGIN, MeasurementFailed, Section, Verdict, print_section

MEASUREMENTS = {
    "startup": startup.measure,
    "updates": updates.measure,
    "tail": tail.measure,
    "memory": memory.measure,
    "initialize": initialize.measure,
    "end_to_end": end_to_end.measure,
    "roundtrip": roundtrip.measure,
    "chain": chain.measure,
    "sandbox": sandbox.measure,
    "skills": skills.measure,
    "packages": packages.measure,
    "page": page.measure,
    "prose": prose.measure,
    "review": review.measure,
    "code": code.measure,
    "comparison": comparison.measure,
    "editor": editor.measure,
    "model": model.measure,
    "prompts": prompts.measure,
    "ahp": doors.measure_agent_host,
    "remote": doors.measure_remote,
}
LONG = {
    "code_peers": code_peers.measure,
    "frames": frames.measure,
    "offline_model": offline_model.measure,
    "registries": packages.measure_registries,
    "search": search.measure,
    "team": team.measure,
}
"""Measurements that take minutes or need a network, and run only when they are named."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Portico beside others.")
    known = MEASUREMENTS | LONG
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only some of: {', '.join(known)}")
    names: list[str] = parser.parse_args().names
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no measurement {unknown[0]!r}; there are {', '.join(known)}")
    _print_machine()
    started = time.monotonic()
    troubles: list[str] = []
    sections: list[Section] = []
    for name in names or MEASUREMENTS:
        try:
            section = known[name]()
        except (MeasurementFailed, subprocess.TimeoutExpired) as error:
            troubles.append(f"{name}: {error}")
            continue
        print_section(section)
        sections.append(section)
        sys.stdout.flush()
    print(f"\n{time.monotonic() - started:.0f} s. ", end="")
    return _conclude(sections, troubles)


def _conclude(sections: list[Section], troubles: list[str]) -> int:
    """The last words, and the exit code."""
    verdicts = {
        verdict: [
            f"{section.title}: {line.what}"
            for section in sections
            for line in section.lines
            if line.verdict is verdict
        ]
        for verdict in Verdict
    }
    if missed := verdicts[Verdict.MISSED] + troubles:
        print("Missed or broken:", *missed, sep="\n  ")
        return 1
    if near := verdicts[Verdict.NEAR]:
        print(f"Not met, but within the margin for noise, a factor of {MARGIN:g}:", *near, sep="\n  ")
    else:
        print("Every budget is met.")
    return 0


def _print_machine() -> None:
    cores, load = os.cpu_count() or 1, psutil.getloadavg()[0]
    print(f"Python {platform.python_version()}, {platform.system()}, {cores} cores, load {load:.1f}")
    if load > cores:
        print("This machine is busy with other things: look at the ratios, and trust them less.")


if __name__ == "__main__":
    sys.exit(main())
