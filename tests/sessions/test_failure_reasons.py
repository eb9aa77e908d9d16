"""Failure reasons of an agent or a client reach the person, wherever they are in the answer."""

from pathlib import Path

import msgspec
import pytest

from portico.acp import _schema as acp
from portico.domain.events import ErrorReported
from portico.rpc.messages import RpcError
from tests.sessions.support import SPEC, FakeAgent, world


def failing(error: RpcError) -> object:
    async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
        raise error

    return answer


async def told(tmp_path: Path, error: RpcError, monkeypatch: pytest.MonkeyPatch) -> ErrorReported:
    spec = msgspec.structs.replace(SPEC, env={"SOME_TOKEN": "correct-horse-battery"})
    monkeypatch.setattr("tests.sessions.support.SPEC", spec)
    async with world(failing(error), tmp_path) as host:  # type: ignore[arg-type]
        turn = await host.prompt()
    (reported,) = [event.payload for event in turn if isinstance(event.payload, ErrorReported)]
    return reported


async def test_the_details_of_an_agents_error_are_in_its_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RpcError(-32603, "Internal error", {"details": "Invalid API key · Please run /login"})
    reported = await told(tmp_path, error, monkeypatch)
    assert reported.message == (
        "The agent fake reported an error: Internal error: Invalid API key · Please run /login"
    )


async def test_a_context_that_is_full_is_known_by_the_details_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RpcError(-32603, "Internal error", {"details": "context length exceeded"})
    assert (await told(tmp_path, error, monkeypatch)).code == "CONTEXT_LIMIT"


async def test_a_secret_that_the_agent_was_given_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RpcError(-32603, "no", {"details": "I was started with correct-horse-battery"})
    assert "correct-horse" not in (await told(tmp_path, error, monkeypatch)).message
