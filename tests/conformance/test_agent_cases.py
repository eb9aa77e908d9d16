"""The cases for agents are held to account: a correct agent passes all of them, and each catches its mutant."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from portico.conformance.agent_cases.catalog import AGENT_CASES
from portico.conformance.agent_trial import PROMPT_NAMES, AgentTrial, TrialOptions
from portico.conformance.case import CaseResult
from portico.conformance.runner import Run, run_cases
from portico.conformance.subject import Subject
from tests.conformance.agent_mutants import MUTANTS, Mutant
from tests.conformance.correct_agent import MemoryAgent

PATIENCE = 60.0
"""A correct agent answers at once, however busy the machine is."""


async def try_cases(
    subject: Subject, folder: Path, ids: Iterable[str] = (), timeout: float = PATIENCE
) -> Run:
    (folder / "conformance.txt").write_text("conformance\n")
    options = TrialOptions(
        folder,
        {name: name for name in PROMPT_NAMES},
        timeout=timeout,
        start_timeout=timeout,
        auth_method="key",
        allow_logout=True,
    )
    trial = AgentTrial(subject, options)
    wanted = tuple(ids)
    try:
        cases = [case for case in AGENT_CASES if not wanted or case.id in wanted]
        return await run_cases(trial, cases)
    finally:
        await trial.end()


def shown(results: Sequence[CaseResult]) -> list[str]:
    return [
        f"{result.id} {result.status}: {result.reason}" for result in results if result.status != "passed"
    ]


async def test_a_correct_agent_passes_every_case(tmp_path: Path) -> None:
    done = await try_cases(MemoryAgent(), tmp_path)
    # It has methods to sign in, so the rule for agents without any does not apply to it.
    assert shown(done.results) == [
        "ACP-AUTH-005 not exercised: The agent has authentication methods.",
    ]
    assert done.conforms


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.case}-{mutant.name}")
async def test_each_mutant_is_caught_by_the_case_it_is_for(mutant: Mutant, tmp_path: Path) -> None:
    # The record is judged after something was said; any other case is tried alone.
    before = ("ACP-PROMPT-001", "ACP-JSONRPC-004") if mutant.needs_record else ()
    timeout = 0.3 if mutant.is_silent else PATIENCE
    done = await try_cases(MemoryAgent(mutant.agent, mutant.edit), tmp_path, (*before, mutant.case), timeout)
    result = next(result for result in done.results if result.id == mutant.case)
    assert result.status == "failed", result
    assert result.frames
    assert result.rule
    assert result.source.startswith("https://")


def test_every_case_has_a_mutant() -> None:
    assert {mutant.case for mutant in MUTANTS} == {case.id for case in AGENT_CASES}


def test_ids_are_unique_and_rules_are_sentences() -> None:
    ids = [case.id for case in AGENT_CASES]
    assert len(set(ids)) == len(ids)
    assert [case.id for case in AGENT_CASES if not case.rule.endswith(".")] == []


async def test_an_agent_that_wants_a_sign_in_is_blocked_not_failed(tmp_path: Path) -> None:
    def edit(_agent: Any, about: str, message: dict[str, Any]) -> list[dict[str, Any]]:
        if about == "session/new":
            return [{"id": message["id"], "error": {"code": -32000, "message": "Sign in first"}}]
        return [message]

    done = await try_cases(MemoryAgent(edit=edit), tmp_path, ("ACP-INIT-001", "ACP-SESSION-001"))
    assert [(result.id, result.status) for result in done.results] == [
        ("ACP-INIT-001", "passed"),
        ("ACP-SESSION-001", "blocked"),
    ]
    assert "Sign in first" in done.results[1].reason
    assert not done.conforms


async def test_an_agent_that_says_nothing_fails_once_and_blocks_the_rest(tmp_path: Path) -> None:
    done = await try_cases(
        MemoryAgent(edit=lambda *_: []), tmp_path, ("ACP-INIT-002", "ACP-SESSION-001"), timeout=0.3
    )
    assert [result.status for result in done.results] == ["failed", "blocked"]
    assert "No answer to initialize" in done.results[0].reason


async def test_an_agent_whose_turns_never_end_fails_once_and_blocks_the_rest(tmp_path: Path) -> None:
    (mutant,) = [one for one in MUTANTS if (one.case, one.name) == ("ACP-PROMPT-001", "no-answer")]
    ids = ("ACP-PROMPT-001", "ACP-PROMPT-002", "ACP-CANCEL-001", "ACP-CLIENTCAP-001", "ACP-LOAD-001")
    done = await try_cases(MemoryAgent(mutant.agent, mutant.edit), tmp_path, ids, timeout=0.3)
    assert [result.status for result in done.results] == [
        "failed",
        "blocked",
        "blocked",
        "blocked",
        "blocked",
    ]


async def test_evidence_has_the_frames_in_order(tmp_path: Path) -> None:
    (mutant,) = [one for one in MUTANTS if one.case == "ACP-PROMPT-001"][:1]
    done = await try_cases(MemoryAgent(mutant.agent, mutant.edit), tmp_path, ("ACP-PROMPT-001",))
    methods = [json.loads(frame.line).get("method", "answer") for frame in done.results[0].frames]
    assert methods == [
        "initialize",
        "answer",
        "authenticate",
        "answer",
        "session/new",
        "answer",
        "session/prompt",
        "session/update",
        "answer",
    ]
