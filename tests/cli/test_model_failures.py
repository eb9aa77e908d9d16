"""Failures of a model: their code, suggestion and exit code."""

import asyncio
from collections.abc import Mapping

import pytest

from portico.domain.errors import ErrorCode
from tests.support.model_endpoint import (
    BAD_KEY,
    OVERLOADED,
    TOO_LONG,
    TOO_MANY,
    Answer,
    Call,
    ModelEndpoint,
    Refuse,
    Reply,
    Say,
)
from tests.support.program import Portico, Ran
from tests.support.stream import Json


def at_once(refusal: Refuse) -> Refuse:
    """As ever, but it may be tried again at once."""
    return Refuse(
        refusal.status, refusal.message, refusal.type, refusal.code, {"retry-after": "0"}, refusal.after
    )


def environ(endpoint: ModelEndpoint, **more: str) -> dict[str, str]:
    return {
        "PORTICO_MODEL": "anthropic:claude-sonnet-5-5",
        "ANTHROPIC_API_KEY": "a-key",
        "ANTHROPIC_BASE_URL": endpoint.address,
        **more,
    }


def quick_environ(endpoint: ModelEndpoint, **more: str) -> dict[str, str]:
    """Another provider, whose package is loaded in two thirds of the time. What each says when it fails is tested elsewhere."""
    return {
        "PORTICO_MODEL": "openai-chat:gpt-5",
        "OPENAI_API_KEY": "a-key",
        "OPENAI_BASE_URL": f"{endpoint.address}/v1",
        **more,
    }


async def ask(portico: Portico, around: Mapping[str, str], *words: str) -> Ran:
    return await asyncio.to_thread(portico.run, "exec", "--json-stream", *words, environ=around)


def failure(ran: Ran) -> Json:
    error: Json = ran.stream.only("error")
    return error


BREAKS = Answer(Say("It begins well and goes on for a while"), breaks_after=4)
FAILURES: tuple[tuple[Reply, ErrorCode, str | None, int, str], ...] = (
    (BAD_KEY, ErrorCode.AUTH_REQUIRED, None, 3, "portico auth login openai-chat"),
    (at_once(TOO_MANY), ErrorCode.INTERNAL, "busy", 3, "try again"),
    (at_once(OVERLOADED), ErrorCode.INTERNAL, "busy", 3, "later"),
    (TOO_LONG, ErrorCode.CONTEXT_LIMIT, "full", 3, "new session"),
    (Answer(finish="refused"), ErrorCode.INTERNAL, "refused", 3, "Rephrase"),
    (Refuse(400, "that makes no sense"), ErrorCode.INTERNAL, "failed", 3, "Try again"),
    (BREAKS, ErrorCode.NETWORK_TIMEOUT, "silent", 2, "Send the prompt again"),
)


@pytest.mark.parametrize(("reply", "code", "model_failure", "exit_code", "way_on"), FAILURES)
async def test_a_failure_of_the_model_has_its_own_code_and_the_session_goes_on(
    portico: Portico, reply: Reply, code: ErrorCode, model_failure: str | None, exit_code: int, way_on: str
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: reply
        ran = await ask(portico, quick_environ(endpoint), "what is this?")
        error = failure(ran)
        assert (error["code"], ran.code) == (code.value, exit_code)
        assert error["details"].get("modelFailure") == model_failure
        assert way_on in error["details"]["suggestion"]
        assert way_on not in error["message"]
        assert ran.stream.only("done")["state"] == "failed"
        endpoint.answer = lambda _: Answer(Say("Here I am."))
        again = await ask(portico, quick_environ(endpoint), "--continue", "and now?")
    assert (again.code, again.stream.answer) == (0, "Here I am.")


@pytest.mark.parametrize(
    "call",
    [Call("read", '{"path": "a.p'), Call("no_such_tool", "{}"), Call("read", '{"path": "not-there.py"}')],
)
async def test_a_call_that_cannot_be_made_is_shown_as_failed_and_the_turn_goes_on(
    portico: Portico, call: Call
) -> None:
    async with ModelEndpoint(Answer(call), Answer(Say("I see."))) as endpoint:
        ran = await ask(portico, quick_environ(endpoint), "go")
    assert (ran.code, ran.stream.answer) == (0, "I see.")
    assert ran.stream.only("tool_completed")["success"] is False


async def test_a_budget_that_is_used_up_ends_the_turn_as_policy(portico: Portico) -> None:
    reading = Call("list", "{}")
    async with ModelEndpoint(Answer(reading), Answer(Say("never said"))) as endpoint:
        ran = await ask(portico, quick_environ(endpoint, PORTICO_BUDGET_TURN="100"), "go")
        assert len(endpoint.requests) == 1
    error = failure(ran)
    assert (error["code"], ran.code) == ("BUDGET_EXCEEDED", 1)
    assert "PORTICO_BUDGET_TURN" in error["details"]["suggestion"]


async def test_a_budget_that_is_nearly_used_up_is_told_in_time(portico: Portico) -> None:
    async with ModelEndpoint(Answer(Say("Done."))) as endpoint:
        ran = await ask(portico, quick_environ(endpoint, PORTICO_BUDGET_TURN="140"), "go")
    assert ran.code == 0
    (notice,) = ran.stream.all("notice")
    assert notice["level"] == "warning"
    assert "86% of the budget for this turn" in notice["text"]


@pytest.mark.parametrize(
    "told",
    [
        {"code": "AGENT_CRASHED"},
        {"code": "SESSION_BUSY"},
        {"code": "INTERNAL"},
        {"code": "INTERNAL", "model_failure": "sulking"},
        {"code": "AUTH_REQUIRED", "suggestion": 7},
        {"code": 7},
        "BUDGET_EXCEEDED",
        None,
    ],
)
def test_what_an_agent_may_not_name_is_an_error_of_its_own(portico: Portico, told: object) -> None:
    ran = portico.exec([{"error": {"code": -32603, "message": "it broke", "data": {"portico": told}}}])
    error = failure(ran)
    assert (error["code"], ran.code) == ("INTERNAL", 2)
    assert "it broke" in error["message"]


def test_any_agent_may_name_its_failure(portico: Portico) -> None:
    told = {"code": "BUDGET_EXCEEDED", "suggestion": "Buy some more."}
    ran = portico.exec([{"error": {"code": -32603, "message": "All spent.", "data": {"portico": told}}}])
    error = failure(ran)
    assert (error["code"], error["message"], ran.code) == ("BUDGET_EXCEEDED", "All spent.", 1)
    assert error["details"]["suggestion"] == "Buy some more."
