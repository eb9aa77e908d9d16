"""One call of a tool, as a model makes it, with a person and a client around it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from portico.porter.models.model import ModelToolCall, ModelToolResult, ToolMessage
from tests.porter.client import Client, connected
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls

Use = Callable[..., Awaitable[ModelToolResult]]


@pytest.fixture
def use(state: Path, folder: Path) -> Use:
    """Make one call in a new session, and get the result as the model does.

    `scenario`, `client` and what `connected` takes can be given; `before` is told of the client first.
    """

    async def made(
        name: str,
        /,
        *,
        scenario: str = "CODE",
        before: Callable[[Client], None] = lambda _client: None,
        after: Callable[[Client], None] = lambda _client: None,
        meta: dict[str, Any] | None = None,
        with_client: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> ModelToolResult:
        return await make(
            state, folder, call(name, **arguments), scenario, before, after, meta, with_client or {}
        )

    return made


async def make(
    state: Path,
    folder: Path,
    wanted: ModelToolCall,
    scenario: str,
    before: Callable[[Client], None],
    after: Callable[[Client], None],
    meta: dict[str, Any] | None,
    with_client: dict[str, Any],
) -> ModelToolResult:
    from portico.acp import _schema as schema

    model = ScriptedModel([calls(wanted), Say("Done.")])
    async with connected(state, setup_of=model.setup(), **with_client) as client:
        session = await client.open(folder, meta=meta)
        await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id=scenario))
        before(client)
        assert await client.prompt(session, "go") == "end_turn"
        after(client)
    message = model.requests[1].messages[-1]
    assert isinstance(message, ToolMessage)
    [result] = message.results
    return result
