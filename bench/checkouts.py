"""Processor time of this Portico beside that of another checkout, through the command line of each.

    python -m bench.checkouts OTHER/.venv/bin/python [ROUNDS]

The clock of a busy machine says little; processor time, of a command and all programs that it starts, says what is
done. Both take turns, after a round that does not count.
"""

import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.children import agent_command, environment
from bench.dialogue import INITIALIZE, dialogue
from bench.report import Line, MeasurementFailed, Section, print_section, ratio
from bench.samples import time_in_turns

ROUND_TRIPS = 2_000
UPDATES = 20_000
WRITTEN = 1_000
PRESENT = 10_000
MEASURED = (
    "version",
    "initialize",
    "round_trips",
    "updates",
    "turn_in_big_folder",
    "propose_and_apply",
)
_ECHO = {"text": "a line of words as an agent may get them"}
_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.com")


class Checkout:
    """One Portico, by its interpreter. Each measurement gives processor seconds."""

    def __init__(self, python: Path, home: Path, folder: Path) -> None:
        self._portico = str(python.with_name("portico"))
        self._environ = environment(home)
        self._folder = folder
        self._big = folder / "big"

    def version(self) -> float:
        return _spent(lambda: self._run("version", "--api"))

    def initialize(self) -> float:
        return _spent(lambda: self._converse(0))

    def round_trips(self) -> float:
        """Without the start."""
        return _spent(lambda: self._converse(ROUND_TRIPS)) - self.initialize()

    def updates(self) -> float:
        """Through the log to a stream of JSON, without the start."""
        agent = shlex.join(agent_command("flood_agent", str(UPDATES)))

        def prompt(words: str) -> float:
            return _spent(lambda: self._run("exec", "--json-stream", "--agent-command", agent, words))

        return prompt("flood") - prompt("one")

    def propose_and_apply(self) -> float:
        agent = shlex.join(agent_command("writing_agent", str(WRITTEN)))
        proposed = _spent(lambda: self._run("exec", "--mode", "proposal", "--agent-command", agent, "write"))
        applied = _spent(lambda: self._run("review", "apply", "--api"))
        for file in self._folder.glob("file_*.txt"):
            file.unlink()
        return proposed + applied

    def turn_in_big_folder(self) -> float:
        """A turn of an agent that changes nothing, with its checkpoint, among many files."""
        agent = shlex.join(agent_command("writing_agent", "0"))
        return _spent(lambda: self._run("exec", "--agent-command", agent, "nothing", cwd=self._big))

    def _converse(self, round_trips: int) -> None:
        command = (self._portico, "acp", "--agent-command", shlex.join(agent_command("plain_agent")))
        with dialogue(command, environ=self._environ, cwd=self._folder) as agent:
            agent.ask("initialize", INITIALIZE)
            for _ in range(round_trips):
                agent.ask("echo", _ECHO)

    def _run(self, *arguments: str, cwd: Path | None = None) -> None:
        done = subprocess.run(
            (self._portico, *arguments),
            env=self._environ,
            cwd=cwd or self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise MeasurementFailed(f"{self._portico} {arguments[0]}: {done.stderr.decode()[-400:]}")


def measure(other: Path, rounds: int) -> list[Section]:
    with tempfile.TemporaryDirectory() as name:
        here = _checkout(Path(sys.executable), Path(name) / "here")
        there = _checkout(other, Path(name) / "there")
        return [_compare(what, getattr(here, what), getattr(there, what), rounds) for what in MEASURED]


def _compare(what: str, here: Callable[[], float], there: Callable[[], float], rounds: int) -> Section:
    samples = time_in_turns({"here": here, "there": there}, rounds)
    return Section(
        title=what.replace("_", " "),
        lines=(
            Line(what="this checkout", samples=samples["here"], unit="seconds"),
            Line(what="the other", samples=samples["there"], unit="seconds"),
            ratio("this over the other", samples["here"], samples["there"]),
        ),
    )


def _checkout(python: Path, place: Path) -> Checkout:
    """A repository with one file, and below it one with many."""
    folder, big = place / "folder", place / "folder" / "big"
    big.mkdir(parents=True)
    (folder / ".gitignore").write_text("big\n")
    for number in range(PRESENT):
        into = big / f"folder_{number % 500}"
        into.mkdir(exist_ok=True)
        (into / f"file_{number}.txt").write_text(f"{number}\n")
    for repository in (folder, big):
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
            subprocess.run((*_GIT, *words), cwd=repository, check=True)
    return Checkout(python, place / "home", folder)


def _spent(work: Callable[[], None]) -> float:
    """Processor seconds of the children that end meanwhile, and of theirs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    other = Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    print(f"Processor time, {rounds} rounds, load {os.getloadavg()[0]:.1f}\n")
    for section in measure(other, rounds):
        print_section(section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
