"""The cases for proxies are held to account: a correct proxy passes all of them, and each catches its mutant."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from portico.conformance.proxy_cases import PROXY_CASES
from portico.conformance.proxy_trial import DIALECTS, Dialect, ProxyTrial
from portico.conformance.runner import Run, run_cases
from portico.rpc.streams import MemoryStream, StreamClosed, memory_pair

Json = dict[str, Any]
PATIENCE = 60.0


class CorrectProxy:
    """Passes everything on, both ways, under ids of its own."""

    def __init__(self, stream: MemoryStream, dialect: Dialect) -> None:
        self.waiting: dict[str, Any] = {}
        self._stream = stream
        self._initialize, self._successor = f"{dialect}/initialize", f"{dialect}/successor"

    async def run(self) -> None:
        rest = b""
        while chunk := await self._stream.read():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.read_line(line)

    def read_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if "method" not in message:
            self.answer({**message, "id": self.waiting.pop(message["id"])})
        elif message["method"] == "$/cancel_request":
            self.cancel(message)
        elif message["method"] == self._initialize:
            self.initialize(message)
        elif message["method"] == self._successor:
            self.pass_back(message)
        else:
            self.pass_on(message, message["method"])

    def initialize(self, message: Json) -> None:
        self.pass_on(message, "initialize")

    def cancel(self, message: Json) -> None:
        """A proxy may leave a cancellation alone."""

    def pass_on(self, message: Json, method: str) -> None:
        self.forward(message, self._successor, {"method": method, "params": message.get("params", {})})

    def pass_back(self, message: Json) -> None:
        self.forward(message, message["params"]["method"], message["params"].get("params", {}))

    def forward(self, message: Json, method: str, params: Json) -> None:
        if "id" not in message:
            self.send({"method": method, "params": params})
            return
        ours = f"own-{len(self.waiting)}-{message['id']}"
        self.waiting[ours] = message["id"]
        self.send({"id": ours, "method": method, "params": params})

    def answer(self, message: Json) -> None:
        self.send(message)

    def send(self, message: Json) -> None:
        try:
            self._stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except StreamClosed:
            return


class MemoryProxy:
    """A proxy inside the test, as the kit starts it."""

    stderr_size = 0

    def __init__(self, proxy: type[CorrectProxy], dialect: Dialect) -> None:
        self._proxy = proxy
        self._dialect: Dialect = dialect

    async def start(self) -> "MemoryProxy":
        running = MemoryProxy(self._proxy, self._dialect)
        running.stream, far = memory_pair()
        running.task = asyncio.create_task(running.run(far))
        return running

    stream: MemoryStream
    task: "asyncio.Task[None]"

    async def run(self, far: MemoryStream) -> None:
        try:
            await self._proxy(far, self._dialect).run()
        finally:
            await far.close()

    def stderr_tail(self) -> str:
        return ""

    async def wait(self) -> str:
        await asyncio.wait((self.task,))
        return "exit code 0"

    async def stop(self, *, kill: bool = False) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class AnswersItself(CorrectProxy):
    def initialize(self, message: Json) -> None:
        self.send({"id": message["id"], "result": {"protocolVersion": 1}})


class LowersVersion(CorrectProxy):
    def initialize(self, message: Json) -> None:
        message["params"]["protocolVersion"] = 0
        super().initialize(message)


class RaisesVersion(CorrectProxy):
    def answer(self, message: Json) -> None:
        if "protocolVersion" in message.get("result", {}):
            message["result"]["protocolVersion"] = 2
        super().answer(message)


class DropsMeta(CorrectProxy):
    def forward(self, message: Json, method: str, params: Json) -> None:
        inner = params.get("params", {})
        inner.pop("_meta", None)
        super().forward(message, method, params)


class RewritesErrors(CorrectProxy):
    def answer(self, message: Json) -> None:
        if "error" in message:
            message["error"] = {"code": -32603, "message": "The agent failed"}
        super().answer(message)


class DropsErrorData(CorrectProxy):
    def answer(self, message: Json) -> None:
        message.get("error", {}).pop("data", None)
        super().answer(message)


class MatchesByOrder(CorrectProxy):
    def answer(self, message: Json) -> None:
        if self.waiting and str(message["id"]).startswith("portico-"):
            first = next(iter(self.waiting))
            message["id"], self.waiting[first] = self.waiting[first], message["id"]
        super().answer(message)


class KeepsAgentRequests(CorrectProxy):
    def pass_back(self, message: Json) -> None:
        if "id" in message:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "No"}})
        else:
            super().pass_back(message)


class MakesRequests(CorrectProxy):
    def pass_on(self, message: Json, method: str) -> None:
        super().pass_on({"id": "made-up", **message}, method)

    def answer(self, message: Json) -> None:
        if message["id"] != "made-up":
            super().answer(message)


class ReversesUpdates(CorrectProxy):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.held: list[Json] = []

    def pass_back(self, message: Json) -> None:
        self.held.append(message)

    def answer(self, message: Json) -> None:
        for held in reversed(self.held):
            super().pass_back(held)
        self.held.clear()
        super().answer(message)


class AnswersFirst(ReversesUpdates):
    def answer(self, message: Json) -> None:
        self.send(message)
        for held in self.held:
            CorrectProxy.pass_back(self, held)


class WrapsCancellation(CorrectProxy):
    def cancel(self, message: Json) -> None:
        self.pass_on(message, message["method"])


class RenamesSessions(CorrectProxy):
    def answer(self, message: Json) -> None:
        if "sessionId" in message.get("result", {}):
            message["result"]["sessionId"] = "mine"
        super().answer(message)


class RefusesLargeLines(CorrectProxy):
    def read_line(self, line: bytes) -> None:
        if len(line) < 64 * 1024:
            super().read_line(line)


class DropsWhenFull(CorrectProxy):
    def send(self, message: Json) -> None:
        if not self._stream.is_full:
            super().send(message)


class StopsAtText(CorrectProxy):
    def read_line(self, line: bytes) -> None:
        json.loads(line)
        super().read_line(line)


class StaysAfterInput(CorrectProxy):
    async def run(self) -> None:
        await super().run()
        await asyncio.Event().wait()


class ProxyMutant(NamedTuple):
    case: str
    proxy: type[CorrectProxy]
    is_silent: bool = False


MUTANTS = (
    ProxyMutant("INIT-001", AnswersItself),
    ProxyMutant("INIT-002", LowersVersion),
    ProxyMutant("INIT-002", RaisesVersion),
    ProxyMutant("REQUEST-001", DropsMeta),
    ProxyMutant("REQUEST-002", RewritesErrors),
    ProxyMutant("REQUEST-002", DropsErrorData),
    ProxyMutant("REQUEST-003", MatchesByOrder, is_silent=True),
    ProxyMutant("REQUEST-004", KeepsAgentRequests),
    ProxyMutant("NOTIFICATION-001", MakesRequests),
    ProxyMutant("ORDER-001", ReversesUpdates),
    ProxyMutant("ORDER-001", AnswersFirst),
    ProxyMutant("BACKPRESSURE-001", DropsWhenFull),
    ProxyMutant("CANCEL-001", WrapsCancellation),
    ProxyMutant("SESSION-001", RenamesSessions),
    ProxyMutant("FRAMES-001", RefusesLargeLines, is_silent=True),
    ProxyMutant("FRAMES-002", StopsAtText),
    ProxyMutant("SHUTDOWN-001", StaysAfterInput, is_silent=True),
)


async def try_cases(
    proxy: type[CorrectProxy], dialect: Dialect = "proxy", case: str = "", timeout: float = PATIENCE
) -> Run:
    trial = ProxyTrial(MemoryProxy(proxy, dialect), dialect, timeout=timeout, start_timeout=PATIENCE)
    chosen: Callable[[str], bool] = lambda name: not case or name == f"PORTICO-PROXY-{case}"  # noqa: E731
    try:
        return await run_cases(trial, [one for one in PROXY_CASES if chosen(one.id)])
    finally:
        await trial.end()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_correct_proxy_passes_every_case_in_each_dialect(dialect: Dialect) -> None:
    done = await try_cases(CorrectProxy, dialect)
    assert [(result.id, result.reason) for result in done.results if result.status != "passed"] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.case}-{mutant.proxy.__name__}")
async def test_each_mutant_is_caught_by_the_case_it_is_for(mutant: ProxyMutant) -> None:
    done = await try_cases(mutant.proxy, case=mutant.case, timeout=0.3 if mutant.is_silent else PATIENCE)
    assert [result.status for result in done.results] == ["failed"], done.results


def test_every_case_has_a_mutant() -> None:
    caught = {f"PORTICO-PROXY-{mutant.case}" for mutant in MUTANTS}
    assert caught == {case.id for case in PROXY_CASES}


async def test_a_proxy_that_speaks_another_dialect_is_blocked() -> None:
    class Deaf(CorrectProxy):
        def pass_on(self, message: Json, method: str) -> None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "Unknown method"}})

    done = await try_cases(Deaf, case="REQUEST-001")
    assert done.results[0].status == "blocked"
    assert "Unknown method" in done.results[0].reason
