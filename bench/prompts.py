"""Time to list 5,000 prompts over the service, and of `prompts run` beside `exec`."""

import http.client
import subprocess
import tempfile
import time
from functools import partial
from operator import itemgetter
from pathlib import Path

import psutil

from bench.children import PORTICO, environment, timed_work
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, sample, take_turns
from portico.api.v1 import agent_pb as pb
from portico.domain import codecs

PROMPTS = 5000
LISTS = 20
RUNS = 9
_TEXT = """---
description: Prompt number {number} of a large folder
tags: [sample, group-{group}]
version: 1
variables:
  input:
    description: the text
  tone:
    default: dry
---
Do something in a {{{{ tone }}}} tone with {{{{ input }}}}.
"""
_LIST = "/portico.v1.AgentService/ListPrompts"


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        _write_prompts(workspace / ".portico" / "prompts")
        cold, warm, worked = _lists(home, workspace)
        runs = _runs(home, Path(folder) / "small")
    by_clock = {name: sample(rounds, itemgetter(0)) for name, rounds in runs.items()}
    work = {name: sample(rounds, itemgetter(1)) for name, rounds in runs.items()}
    return Section(
        title=f"{PROMPTS:,} prompts, and a run of one",
        lines=(
            Line(what="ListPrompts over the service, first call", samples=cold, unit="seconds"),
            Line(
                what="ListPrompts over the service, warm",
                samples=warm,
                unit="seconds",
                budget=Budget("at most", 0.15),
            ),
            Line(what="  processor time of the server for it", samples=worked, unit="seconds"),
            Line(what="portico exec --api", samples=by_clock["exec"], unit="seconds"),
            Line(what="portico prompts run --api", samples=by_clock["run"], unit="seconds"),
            ratio("prompts run over exec", by_clock["run"], by_clock["exec"], Budget("at most", 1.1)),
            ratio("  the same in processor time", work["run"], work["exec"], Budget("at most", 1.1)),
        ),
    )


def _write_prompts(folder: Path) -> None:
    for number in range(PROMPTS):
        path = folder / f"group{number // 100}" / f"prompt{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_TEXT.format(number=number, group=number // 100))


def _lists(home: Path, workspace: Path) -> tuple[Samples, Samples, Samples]:
    command = (PORTICO, "serve", "--api")
    with subprocess.Popen(command, env=environment(home), cwd=workspace, stdout=subprocess.PIPE) as server:
        try:
            if server.stdout is None or not server.stdout.readline():
                raise MeasurementFailed("portico serve did not start")
            record = codecs.decode_json((home / "state" / "server.json").read_bytes())
            token = Path(record["token_file"]).read_text().strip()
            connection = http.client.HTTPConnection("127.0.0.1", record["port"])
            cold = _list(connection, token, workspace)
            process = psutil.Process(record["pid"])
            warm, worked = [], []
            for _ in range(LISTS):
                before = sum(process.cpu_times()[:2])
                warm.append(_list(connection, token, workspace))
                worked.append(sum(process.cpu_times()[:2]) - before)
            connection.close()
        finally:
            server.terminate()
    return Samples((cold,)), Samples(tuple(warm)), Samples(tuple(worked))


def _list(connection: http.client.HTTPConnection, token: str, workspace: Path) -> float:
    headers = {"authorization": f"Bearer {token}", "content-type": "application/proto"}
    started = time.perf_counter()
    connection.request("POST", _LIST, pb.ListPromptsRequest(workspace=str(workspace)).to_binary(), headers)
    answer = connection.getresponse()
    data = answer.read()
    taken = time.perf_counter() - started
    if answer.status != http.client.OK or len(pb.ListPromptsResponse.from_binary(data).prompts) < PROMPTS:
        raise MeasurementFailed(f"ListPrompts failed: {answer.status}")
    return taken


def _runs(home: Path, workspace: Path) -> dict[str, list[tuple[float, float]]]:
    """Time and processor time of each run. Both send the same words to Porter, which answers without a model."""
    prompts = workspace / ".portico" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "help.md").write_text("/help")
    agent = ("--agent", "porter", "--api")
    environ = environment(home)
    words = {"exec": ("exec", "/help"), "run": ("prompts", "run", "help")}
    return take_turns(
        {
            name: partial(timed_work, (PORTICO, *command, *agent), environ=environ, cwd=workspace)
            for name, command in words.items()
        },
        RUNS,
    )
