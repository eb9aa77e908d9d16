"""Tools that only read, by the word of their server: what a trusted server may say, and what no other may."""

import sys
from pathlib import Path

import msgspec
import pytest

from portico.acp import _schema as schema
from portico.acp.extensions import PorticoCapabilities, ServerMeta, to_meta
from portico.chains.mcp_servers import configured_servers
from tests.porter.client import Client, connected, reject
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in

PROGRAM = Path(__file__).with_name("server.py")
UNTRUSTED = schema.McpServer(name="math", command=sys.executable, args=[str(PROGRAM)], env=[])
TRUSTED = msgspec.structs.replace(UNTRUSTED, meta=to_meta(ServerMeta(trusted=True)))


async def begin(client: Client, folder: Path, scenario: str, server: schema.McpServer) -> str:
    session = await client.open(folder, servers=[server])
    await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id=scenario))
    return session


@pytest.mark.parametrize("scenario", ["ASK", "PLAN", "EDITOR_CODE", "CODE"])
async def test_a_tool_that_only_reads_is_called_without_a_question(
    state: Path, folder: Path, scenario: str
) -> None:
    model = ScriptedModel([calls(call("math__look")), Say("Seen.")])
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = reject
        await client.prompt(await begin(client, folder, scenario, TRUSTED), "look")
        assert client.questions == []
        [shown] = client.calls
        assert (shown.name, shown.meta) == ("math__look", {"portico": {"readOnly": True}})
    assert results_in(model.requests[1]) == ["Looked."]
    offered = {tool.name for tool in model.requests[0].tools}
    assert ("math__add" in offered) == (scenario == "CODE")


async def test_the_word_of_a_server_that_is_not_trusted_grants_nothing(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("math__look")), Say("Well."), calls(call("math__look")), Say("No.")])
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = reject
        await client.prompt(await begin(client, folder, "ASK", UNTRUSTED), "look")
        await client.prompt(await begin(client, folder, "CODE", UNTRUSTED), "look")
        [question] = client.questions
        assert question.tool_call.meta is None
    assert 'Unknown tool "math__look"' in results_in(model.requests[1])[0]
    assert "The person declined" in results_in(model.requests[3])[0]


async def test_a_permission_broker_is_asked_and_its_denial_holds(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("math__look", path="secret")), Say("Well.")])
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = reject
        capabilities = schema.ClientCapabilities(meta=to_meta(PorticoCapabilities(broker=1)))
        await client.end.initialize(
            schema.InitializeRequest(protocol_version=1, client_capabilities=capabilities)
        )
        await client.prompt(await begin(client, folder, "ASK", TRUSTED), "look")
        [question] = client.questions
        assert question.tool_call.meta == {"portico": {"readOnly": True}}
        assert (question.tool_call.name, question.tool_call.raw_input) == ("math__look", {"path": "secret"})
    assert "The person declined" in results_in(model.requests[1])[0]


async def test_two_calls_run_at_once_and_each_gets_its_own_result(state: Path, folder: Path) -> None:
    """The server answers neither before it has both, and the second first."""
    both = calls(call("math__meet", who="Ada"), call("math__meet", who="Bob"))
    model = ScriptedModel([both, Say("They met.")])
    async with connected(state, setup_of=model.setup()) as client:
        await client.prompt(await begin(client, folder, "ASK", TRUSTED), "meet")
    assert results_in(model.requests[1]) == ["Ada", "Bob"]


def test_servers_of_the_settings_are_trusted(tmp_path: Path) -> None:
    settings = tmp_path / "config" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://example.org"}}}')
    found = configured_servers(tmp_path, {"PORTICO_HOME": str(tmp_path)})
    assert [(one.name, one.meta) for one in found.servers] == [("a", TRUSTED.meta), ("b", TRUSTED.meta)]
