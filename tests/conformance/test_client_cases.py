"""The cases for clients are held to account: a correct client passes all of them, and each catches its mutant."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

from portico.conformance.client_cases.catalog import CLIENT_CASES
from portico.conformance.client_program import DrivenTurn
from portico.conformance.client_trial import ClientTrial
from portico.conformance.runner import Run, run_cases
from portico.rpc.streams import MemoryStream, memory_pair
from tests.conformance.client_mutants import CLIENT_MUTANTS, ClientMutant
from tests.conformance.correct_client import CorrectClient

PATIENCE = 60.0
"""A correct client answers at once, however busy the machine is."""
RECORDED = ("TRANSPORT-001", "JSONRPC-006", "SCHEMA-001", "SCHEMA-002")


class MemoryClient:
    """A client inside the test, as the kit starts it."""

    can_cancel = True

    def __init__(self, client: type[CorrectClient], folder: Path) -> None:
        self._client = client
        self._folder = folder

    async def start(self, turns: Sequence[DrivenTurn]) -> "RunningMemoryClient":
        return RunningMemoryClient(self._client, self._folder, turns)


class RunningMemoryClient:
    def __init__(self, client: type[CorrectClient], folder: Path, turns: Sequence[DrivenTurn]) -> None:
        self.folder = folder
        self.stream, self._far = memory_pair()
        self._client = client(self._far, folder, msgspec.to_builtins(list(turns)))
        self._task = asyncio.create_task(self._run(self._far))

    def output(self) -> str:
        return self._client.shown

    def stderr_tail(self) -> str:
        return ""

    def cancel(self) -> None:
        """Its script has it cancel."""

    async def wait(self) -> str:
        await asyncio.wait((self._task,))
        return "exit code 0"

    async def stop(self, *, kill: bool = False) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._far.close()

    async def _run(self, far: MemoryStream) -> None:
        try:
            await self._client.run()
        finally:
            if not getattr(self._client, "keeps_connection", False):
                await far.close()


async def try_cases(
    client: type[CorrectClient],
    folder: Path,
    ids: Iterable[str] = (),
    timeout: float = PATIENCE,
    patience: float = PATIENCE,
) -> Run:
    subject = MemoryClient(client, folder)
    trial = ClientTrial(subject, timeout=timeout, start_timeout=PATIENCE, patience=min(timeout, patience))
    wanted = {f"PORTICO-CLIENT-{one}" for one in ids}
    try:
        return await run_cases(trial, [case for case in CLIENT_CASES if not wanted or case.id in wanted])
    finally:
        await trial.end()


async def test_a_correct_client_passes_every_case(tmp_path: Path) -> None:
    done = await try_cases(CorrectClient, tmp_path)
    # It announces files and terminals, so it has none to refuse.
    assert [
        f"{result.id} {result.status}: {result.reason}"
        for result in done.results
        if result.status != "passed"
    ] == [
        "PORTICO-CLIENT-FILES-006 not exercised: The client announces that it reads and writes files.",
        "PORTICO-CLIENT-TERMINALS-008 not exercised: The client announces terminals.",
    ]
    assert done.conforms


@pytest.mark.parametrize(
    "mutant", CLIENT_MUTANTS, ids=lambda mutant: f"{mutant.case}-{mutant.client.__name__}"
)
async def test_each_mutant_is_caught_by_the_case_it_is_for(mutant: ClientMutant, tmp_path: Path) -> None:
    # The record is judged after something was said; any other case is tried alone.
    before = ("PERMISSIONS-001",) if mutant.case in RECORDED else ()
    timeout = 0.5 if mutant.is_silent else PATIENCE
    done = await try_cases(mutant.client, tmp_path, (*before, mutant.case), timeout, patience=1.0)
    result = next(result for result in done.results if result.id == f"PORTICO-CLIENT-{mutant.case}")
    assert result.status == "failed", result
    assert result.frames
    assert result.rule
    assert result.source.startswith("https://")


async def test_a_client_without_capabilities_refuses_what_it_lacks(tmp_path: Path) -> None:
    class Bare(CorrectClient):
        capabilities = {}  # noqa: RUF012 - never changed
        fs_read_text_file = None  # type: ignore[assignment]
        terminal_create = None  # type: ignore[assignment]
        elicitation_create = None  # type: ignore[assignment]

    done = await try_cases(Bare, tmp_path, ("FILES-001", "FILES-006", "TERMINALS-008", "ELICITATION-002"))
    assert [result.status for result in done.results] == ["not announced", "passed", "passed", "passed"]


def test_every_case_has_a_mutant_and_an_id_of_its_own() -> None:
    caught = {f"PORTICO-CLIENT-{mutant.case}" for mutant in CLIENT_MUTANTS}
    ids = [case.id for case in CLIENT_CASES]
    assert caught == set(ids)
    assert len(set(ids)) == len(ids)
    assert [case.id for case in CLIENT_CASES if not case.rule.endswith(".")] == []


async def test_a_client_that_ends_before_its_prompt_is_blocked(tmp_path: Path) -> None:
    class Leaves(CorrectClient):
        async def drive(self) -> None:
            return

    done = await try_cases(Leaves, tmp_path, ("INIT-001", "FILES-001"))
    assert [result.status for result in done.results] == ["blocked", "blocked"]
    assert "without a message" in done.results[0].reason
