"""Faults on a team of three nodes, with a checker of the log: python -m bench.team_faults [--faults N] [--seed N]

Turns run in sessions of a shared folder while nodes are killed, paused, restarted and cut off from the database, and
the database crashes. Doors on random nodes watch every session, send prompts and answer permission requests. In the
end the log is compared with what they were shown and what they answered:

- no event that was shown is missing or different, none came twice, and none was left out
- the numbers of each session have no gap, and its checksums are right
- no epoch of a lease had two owners
- no permission was granted that no door gave
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path

import msgspec
import psycopg

from portico.domain.events import Event, PermissionResolved
from portico.domain.ids import SessionId
from portico.store.postgres.store import PostgresStore
from tests.support.database_relay import DatabaseRelay
from tests.support.postgres import PostgresServer
from tests.support.stream import Json
from tests.support.team import LEASE_SECONDS, TeamNode
from tests.support.waiting import wait_until

NODES = ("alpha", "beta", "gamma")
SESSIONS = 3
FAULTS = 500
PAUSE_SECONDS = 2.0
_LOOK_SECONDS = 0.5
_HISTORY = """
    CREATE TABLE lease_history (name BYTEA, epoch BIGINT, owner TEXT);
    CREATE FUNCTION note_lease() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO lease_history VALUES (NEW.name, NEW.epoch, NEW.owner); RETURN NEW; END $$;
    CREATE TRIGGER note_lease AFTER INSERT OR UPDATE ON leases FOR EACH ROW
        WHEN (NEW.owner <> '') EXECUTE FUNCTION note_lease();
"""
_TWO_OWNERS = "SELECT count(*) FROM (SELECT 1 FROM lease_history GROUP BY name, epoch HAVING count(DISTINCT owner) > 1) x"


class FaultReport(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a run, and the problems that were found."""

    seconds: float
    faults: dict[str, int]
    turns: int
    shown: int
    events: int
    takeovers: int
    grants: int
    problems: tuple[str, ...]

    def __str__(self) -> str:
        faults = ", ".join(f"{count} × {kind}" for kind, count in sorted(self.faults.items()))
        return (
            f"{sum(self.faults.values())} faults in {self.seconds:.0f} s ({faults}); {self.turns} turns, "
            f"{self.events:,} events, {self.shown:,} shown, {self.takeovers} changes of owners, "
            f"{self.grants} grants; problems: {len(self.problems)}"
        )


class Team:
    """Three nodes, each with a connection to the database that can be cut."""

    def __init__(self, folder: Path, postgres: PostgresServer, seed: int) -> None:
        self.postgres = postgres
        self.database = postgres.new_database()
        self.random = random.Random(seed)
        self.shared = folder / "shared"
        self.faults: Counter[str] = Counter()
        self.relays = [DatabaseRelay(folder / f"r{number}", postgres.folder) for number in range(len(NODES))]
        self.nodes = []
        for name, relay in zip(NODES, self.relays, strict=True):
            relay.start()
            address = self.database.replace(str(postgres.folder), str(relay.folder))
            self.nodes.append(TeamNode(name, folder, address, self.shared))

    def start(self) -> None:
        for node in self.nodes:
            node.serve()
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute(_HISTORY.encode())

    def inject(self) -> None:
        """One fault, healed before the next one."""
        place = self.random.randrange(len(self.nodes))
        node, relay = self.nodes[place], self.relays[place]
        kind = self.random.choice(
            ("kill", "kill", "pause", "pause", "cut off", "lost connections", "database crash")
        )
        seconds = self.random.uniform(0.1, 1.5 * LEASE_SECONDS)
        self.faults[kind] += 1
        match kind:
            case "kill":
                node.kill()
                node.serve()
            case "pause":
                node.running.signal(signal.SIGSTOP)
                time.sleep(seconds)
                node.running.signal(signal.SIGCONT)
            case "cut off":
                with relay.cut():
                    time.sleep(seconds)
            case "lost connections":
                relay.drop()
            case _:
                self.postgres.kill()
                self.postgres.start()

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        for relay in self.relays:
            relay.stop()


class SessionDoor:
    """The doors of one session: one that watches, and one that prompts and answers. They keep what they saw."""

    def __init__(self, team: Team, session_id: str, seed: int) -> None:
        self.session_id = session_id
        self.shown: dict[int, str] = {}
        self.problems: list[str] = []
        self.turns = 0
        self.grants: Counter[str] = Counter()
        self._team = team
        self._random = random.Random(seed)
        self._ended = threading.Event()
        work = (self._watch, self._work)
        self._threads = [threading.Thread(target=one, name=f"{one.__name__} {session_id}") for one in work]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _watch(self) -> None:
        """Watch through one node after the other, always from the last event that was shown."""
        while not self._ended.is_set():
            last = max(self.shown, default=0)
            self._attempt(lambda last=last: self._follow(last))  # type: ignore[misc]

    def _follow(self, last: int) -> None:
        stream = self._node().server.stream("Watch", {"sessionId": self.session_id, "afterSeq": last})
        try:
            while not self._ended.is_set() and (message := stream.next()) is not None:
                if (event := message.get("event")) is None:
                    continue
                seq = int(event["seq"])
                if seq != last + 1:
                    self.problems.append(f"{self.session_id}: event {seq} was shown after {last}")
                self.shown[seq] = json.dumps(event, sort_keys=True)
                last = seq
        finally:
            stream.leave()

    def _work(self) -> None:
        while not self._ended.is_set():
            self._attempt(self._step)
            self._ended.wait(_LOOK_SECONDS)

    def _step(self) -> None:
        detail = self._node().ask("GetSession", sessionId=self.session_id)["session"]
        for asked in detail.get("permissions", []):
            self._answer(asked)
        state = detail["summary"].get("state", "").removeprefix("TURN_STATE_")
        if state in ("IDLE", "COMPLETED", "CANCELED", "FAILED", "INTERRUPTED"):
            self._node().prompt(self.session_id, "stream 20 30 10", "permission", "say end")
            self.turns += 1

    def _answer(self, asked: Json) -> None:
        allow = self._random.random() < 0.5
        option = next(one for one in asked["options"] if ("ALLOW" if allow else "REJECT") in one["kind"])
        # Counted before it is sent: the answer to the call may be lost.
        self.grants[asked["requestId"]] += allow
        decision = {"requestId": asked["requestId"], "optionId": option["optionId"]}
        self._node().ask(
            "SubmitClientEvent", sessionId=self.session_id, permissionDecisions={"decisions": [decision]}
        )

    def _node(self) -> TeamNode:
        return self._random.choice(self._team.nodes)

    def _attempt(self, work: Callable[[], None]) -> None:
        """Calls fail while there are faults; what counts is what the log says in the end."""
        try:
            work()
        except (OSError, HTTPException, AssertionError, ValueError, KeyError):
            self._ended.wait(_LOOK_SECONDS)


def run(
    faults: int, seed: int, postgres: PostgresServer, folder: Path, *, pause: float = PAUSE_SECONDS
) -> FaultReport:
    """Inject faults while turns run, heal everything, and check the log."""
    team, began = Team(folder, postgres, seed), time.monotonic()
    doors: list[SessionDoor] = []
    try:
        team.start()
        for number in range(SESSIONS):
            workspace = team.shared / f"work{number}"
            workspace.mkdir(parents=True)
            doors.append(SessionDoor(team, team.nodes[0].begin(workspace=str(workspace)), seed + number))
        for door in doors:
            door.start()
        for _ in range(faults):
            team.inject()
            time.sleep(team.random.uniform(0, pause))
        before = sum(door.turns for door in doors)
        wait_until(
            lambda: sum(door.turns for door in doors) > before, "a turn after the last fault", seconds=90
        )
    finally:
        for door in doors:
            door.end()
        team.close()
    return asyncio.run(_check(team, doors, time.monotonic() - began, folder))


async def _check(team: Team, doors: Sequence[SessionDoor], seconds: float, folder: Path) -> FaultReport:
    problems = [problem for door in doors for problem in door.problems]
    store = PostgresStore(team.database, folder / "checked")
    await store.open()
    try:
        problems += await store.verify()
        logs = {
            door.session_id: await store.read(SessionId(door.session_id), after_seq=0, limit=1_000_000)
            for door in doors
        }
    finally:
        await store.close()
    for door in doors:
        problems += _compare(door, logs[door.session_id])
    with psycopg.connect(team.database) as connection:
        two_owners, owners = (
            connection.execute(_TWO_OWNERS.encode()).fetchone(),
            connection.execute("SELECT count(DISTINCT (name, epoch)) FROM lease_history").fetchone(),
        )
    assert two_owners is not None
    assert owners is not None
    if two_owners[0]:
        problems.append(f"{two_owners[0]} epochs had two owners")
    return FaultReport(
        seconds=seconds,
        faults=dict(team.faults),
        turns=sum(door.turns for door in doors),
        shown=sum(len(door.shown) for door in doors),
        events=sum(map(len, logs.values())),
        takeovers=owners[0],
        grants=sum(sum(door.grants.values()) for door in doors),
        problems=tuple(problems),
    )


def _compare(door: SessionDoor, log: Sequence[Event]) -> list[str]:
    """Compare the events and decisions of a door with the log."""
    problems = []
    kinds = {event.seq: event.kind for event in log}
    if sorted(kinds) != list(range(1, len(log) + 1)):
        problems.append(f"{door.session_id}: the numbers have a gap")
    for seq, shown in door.shown.items():
        told = {name for name in json.loads(shown) if name not in ("sessionId", "seq", "turnId", "at")}
        wanted = _camel(kinds.get(seq, "nothing"))
        if told != {wanted}:
            problems.append(f"{door.session_id}: {told} was shown as event {seq}, and the log has {wanted}")
    for event in log:
        match event.payload:
            case PermissionResolved(outcome="allowed", request_id=request_id) if not door.grants[request_id]:
                problems.append(f"{door.session_id}: event {event.seq} grants what no door gave")
            case _:
                pass
    return problems


def _camel(kind: str) -> str:
    first, *more = kind.split("_")
    return first + "".join(word.capitalize() for word in more)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.team_faults", description="Faults on a team of nodes."
    )
    parser.add_argument("--faults", type=int, default=FAULTS, help=f"default: {FAULTS}")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tf", dir="/tmp") as folder:
        postgres = PostgresServer(Path(folder) / "pg")
        postgres.folder.mkdir()
        postgres.create()
        postgres.start()
        try:
            report = run(flags.faults, flags.seed, postgres, Path(folder))
        finally:
            postgres.stop()
    print(report)
    for problem in report.problems:
        print(f"  {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
