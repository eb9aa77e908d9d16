"""Cost of `portico acp` between a client and an agent: alone, with proxies in its process, and with programs.

The agents are plain and the client only moves bytes, so the ratios over talking to the agent directly
are as strict as they can be. The Rust conductor runs beside it where `python -m bench.rust_conductor` has built it.
All contenders run at the same time and take turns to be asked; each has
answered before the clock starts. Two processes of the same program differ, for as long as they live, by
as much as a direct round trip, and no number of rounds evens that out: so all are started anew several times.
"""

import json
import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import rust_conductor
from bench.children import PORTICO, agent_command, environment
from bench.dialogue import INITIALIZE, between_pipes
from bench.programs.flood_agent import SESSION, delta
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, time_in_turns
from portico.config.paths import config_folder

STARTS = 5
ROUNDS = 15
REQUESTS = 50
UPDATES = 10_000
UPDATE_ROUNDS = 5
ECHO = {"text": "a line of words as an agent may get them"}
DIRECT, NONE, ONE, FIVE = "no conductor", "0 proxies", "1 in its process", "5 in its process"
OWN_AND_PROGRAM = "its own and 1 program"
RUST, RUST_AND_PROGRAM = "Rust conductor", "Rust conductor, 1 program"
_PROGRAM = "plain"
_ROUND_TRIP = Budget("at most", 4)


class Client:
    """One request at a time, and no JSON is decoded while the clock runs."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._name = name
        self._out, self._in = process.stdin, process.stdout

    def ask(self, method: str, params: Mapping[str, Any]) -> list[bytes]:
        """All lines up to the answer, which is the last."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            self._out.write(json.dumps(request).encode() + b"\n")
            self._out.flush()
        except BrokenPipeError as error:
            raise MeasurementFailed(f"{self._name} ended before {method}") from error
        lines = []
        for line in self._in:
            lines.append(line)
            if b'"session/update"' not in line:
                return lines
        raise MeasurementFailed(f"{self._name} ended without an answer to {method}")

    def check(self, answer: bytes, expected: Mapping[str, Any]) -> None:
        message = json.loads(answer)
        if not expected.items() <= message.get("result", {}).items():
            raise MeasurementFailed(f"{self._name} said {message}")


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _name_proxy(home)
        echo, flood = agent_command("plain_agent"), agent_command("flood_agent", str(UPDATES))
        round_trips = _joined([_in_turns(home, echo, _hello, _round_trip, ROUNDS) for _ in range(STARTS)])
        rates = _in_turns(home, flood, _open, _rate, UPDATE_ROUNDS)
    direct, rate = round_trips[DIRECT], rates[DIRECT]
    # Held against the same program without proxies, so that nothing else differs.
    one, five = (round_trips[name].since(round_trips[NONE]) for name in (ONE, FIVE))
    return Section(
        title="portico acp between a client and a plain agent, over talking to it directly",
        lines=(
            Line(what="round trip, no conductor", samples=direct, unit="seconds"),
            *(
                ratio(f"  {name}", found, direct, _ROUND_TRIP if name == NONE else None)
                for name, found in round_trips.items()
                if name != DIRECT
            ),
            ratio("  what 1 in its process adds", one, direct, Budget("at most", 0.3)),
            ratio("  what 5 in its process add", five, direct),
            *_beside_rust(round_trips, Budget("at most", 1)),
            Line(what="updates, no conductor", samples=rate, unit="per second"),
            *(ratio(f"  {name}", found, rate) for name, found in rates.items() if name != DIRECT),
            *_beside_rust(rates, Budget("at least", 5), Budget("at least", 3)),
        ),
        notes=(
            f"Updates: {UPDATES:,} deltas of 40 characters; all the text arrived, in order, through each chain.",
            "A proxy in its process sees each request, its answer and each update. A program is Python with json.",
        ),
    )


def _beside_rust(
    found: Mapping[str, Samples], budget: Budget, with_program: Budget | None = None
) -> Iterator[Line]:
    if RUST in found:
        yield ratio("  0 proxies over the Rust conductor", found[NONE], found[RUST], budget)
        what = "  its own and 1 program over Rust and 1"
        yield ratio(what, found[OWN_AND_PROGRAM], found[RUST_AND_PROGRAM], with_program)


def _name_proxy(home: Path) -> None:
    """Tell `portico acp` of the proxy program, as a person would: in the settings."""
    command, *arguments = agent_command("plain_proxy")
    settings = config_folder(environment(home)) / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        json.dumps({"proxies": {_PROGRAM: {"command": command, "args": arguments}}}), encoding="utf-8"
    )


def _contenders(agent: Sequence[str]) -> dict[str, tuple[str, ...]]:
    to_agent = ("--agent-command", shlex.join(agent))
    acp = (PORTICO, "acp", *to_agent)

    def looking(count: int) -> tuple[str, ...]:
        return agent_command("looking_acp", str(count), *to_agent)

    return {
        DIRECT: tuple(agent),
        NONE: (*acp, "--no-proxies"),
        ONE: looking(1),
        "3 in its process": looking(3),
        FIVE: looking(5),
        "its own proxies": acp,
        OWN_AND_PROGRAM: (*acp, "--proxy", _PROGRAM),
        "its own and 3 programs": (*acp, *("--proxy", _PROGRAM) * 3),
        **_rust_contenders(agent),
    }


def _rust_contenders(agent: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if (program := rust_conductor.find()) is None:
        return {}
    proxy = shlex.join(agent_command("plain_proxy"))
    return {
        RUST: (program, "agent", shlex.join(agent)),
        RUST_AND_PROGRAM: (program, "agent", proxy, shlex.join(agent)),
    }


def _in_turns(
    home: Path,
    agent: Sequence[str],
    greet: Callable[[Client], None],
    once: Callable[[Client], float],
    rounds: int,
) -> dict[str, Samples]:
    with ExitStack() as running:
        clients = {
            name: Client(
                name, running.enter_context(between_pipes(command, environ=environment(home), cwd=home))
            )
            for name, command in _contenders(agent).items()
        }
        for client in clients.values():
            greet(client)
        return time_in_turns({name: _bound(once, client) for name, client in clients.items()}, rounds)


def _joined(starts: Sequence[Mapping[str, Samples]]) -> dict[str, Samples]:
    return {
        name: Samples(tuple(value for start in starts for value in start[name].values)) for name in starts[0]
    }


def _bound(once: Callable[[Client], float], client: Client) -> Callable[[], float]:
    return lambda: once(client)


def _hello(client: Client) -> None:
    client.check(client.ask("initialize", INITIALIZE)[-1], {"protocolVersion": 1})


def _open(client: Client) -> None:
    _hello(client)
    client.check(
        client.ask("session/new", {"cwd": str(Path.cwd()), "mcpServers": []})[-1], {"sessionId": SESSION}
    )


def _round_trip(client: Client) -> float:
    """Seconds for one request and its answer: the median, which a process that cuts in does not move."""
    times, answers = [], []
    for _ in range(REQUESTS):
        started = time.perf_counter()
        answers.append(client.ask("echo", ECHO)[-1])
        times.append(time.perf_counter() - started)
    for answer in answers:
        client.check(answer, ECHO)
    return statistics.median(times)


def _rate(client: Client) -> float:
    """Updates in a second, from the prompt to the end of the turn."""
    prompt = {"sessionId": SESSION, "prompt": [{"type": "text", "text": "flood"}]}
    started = time.perf_counter()
    *updates, answer = client.ask("session/prompt", prompt)
    seconds = time.perf_counter() - started
    client.check(answer, {"stopReason": "end_turn"})
    texts = (json.loads(line)["params"]["update"]["content"]["text"] for line in updates)
    if "".join(texts) != "".join(map(delta, range(UPDATES))):
        raise MeasurementFailed("not all the text of a flood arrived in order")
    return UPDATES / seconds
