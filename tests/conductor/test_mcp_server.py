"""A server with tools as an agent sees it, in both eras of MCP."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from portico.domain import codecs
from portico.mcp.server import McpRequest, ToolServer
from portico.mcp.tools import McpImage, McpText, Tool, ToolCall, ToolResult
from portico.rpc.messages import RpcError
from tests.conductor.mcp_support import MODERN, Desk


async def answer(
    server: ToolServer, method: str, params: Any = None, told: list[tuple[str, Any]] | None = None
) -> dict[str, Any]:
    """Ask a server, and read its answer as the agent would."""
    raw = None if params is None else Raw(msgspec.json.encode(params))

    def notify(name: str, value: Any) -> None:
        if told is not None:
            told.append((name, codecs.decode_json(msgspec.json.encode(value))))

    result = await server.answer(McpRequest(method, raw, "s", "/work", notify))
    decoded: dict[str, Any] = codecs.decode_json(msgspec.json.encode(result))
    return decoded


async def run(server: ToolServer, tool: str, **arguments: Any) -> dict[str, Any]:
    return await answer(server, "tools/call", {"name": tool, "arguments": arguments})


def tool_that(returns: Any) -> ToolServer:
    async def give(call: ToolCall) -> Any:
        return returns

    return ToolServer("one", [Tool("give", "Gives.", {}, give)], result_limit=1000)


@pytest.mark.parametrize(
    ("wanted", "agreed"), [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25"), (None, "2025-11-25")]
)
async def test_the_handshake_settles_on_a_revision_that_both_know(wanted: str | None, agreed: str) -> None:
    greeting = await answer(Desk().server, "initialize", {"protocolVersion": wanted})
    assert greeting["protocolVersion"] == agreed
    assert greeting["capabilities"] == {"tools": {}}
    assert greeting["serverInfo"]["name"] == "desk"
    assert greeting["instructions"] == "Use the desk."


async def test_the_newest_revision_needs_no_handshake() -> None:
    server = Desk().server
    found = await answer(server, "server/discover", {"_meta": MODERN})
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "desk"
    listed = await answer(server, "tools/list", {"_meta": MODERN})
    assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")
    called = await answer(
        server, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": MODERN}
    )
    assert called["resultType"] == "complete"
    assert called["structuredContent"] == {"sum": 3}


async def test_a_revision_that_nobody_knows_is_refused_with_those_that_are() -> None:
    meta = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    with pytest.raises(RpcError) as refused:
        await answer(Desk().server, "tools/list", {"_meta": meta})
    assert refused.value.code == -32022
    assert refused.value.data == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


async def test_tools_are_listed_with_a_schema_whose_root_is_an_object() -> None:
    listed = await answer(Desk().server, "tools/list")
    assert set(listed) == {"tools"}
    add = listed["tools"][0]
    assert (add["name"], add["description"]) == ("add", "Adds two numbers.")
    assert add["inputSchema"]["type"] == "object"
    assert add["inputSchema"]["required"] == ["a", "b"]
    assert add["annotations"] == {"readOnlyHint": True}


async def test_a_structured_result_is_also_there_in_words() -> None:
    assert await run(Desk().server, "add", a=40, b=2) == {
        "content": [{"type": "text", "text": '{"sum":42}'}],
        "structuredContent": {"sum": 42},
    }


async def test_words_and_images_reach_the_model() -> None:
    picture = ToolResult((McpText("look"), McpImage("aGk=", "image/png")))
    assert (await run(tool_that(picture), "give"))["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]


async def test_the_model_is_told_which_argument_does_not_fit() -> None:
    result = await run(Desk().server, "add", a="one", b=2)
    assert result["isError"] is True
    assert "$.a" in result["content"][0]["text"]


async def test_a_failure_is_said_to_the_model_in_the_words_of_the_tool() -> None:
    result = await run(Desk().server, "refuse")
    assert result == {"content": [{"type": "text", "text": "Ask for something else."}], "isError": True}


async def test_a_defect_of_a_tool_is_told_to_the_model_and_logged_for_the_developer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await run(Desk().server, "broken")
    assert result["isError"] is True
    assert "broken" in result["content"][0]["text"]
    assert "the inside" not in result["content"][0]["text"]
    assert "the inside" in caplog.text


async def test_a_result_that_cannot_be_written_as_json_is_a_defect_of_the_tool() -> None:
    result = await run(tool_that(ToolResult(structured=object())), "give")
    assert result["isError"] is True
    assert "give" in result["content"][0]["text"]


async def test_a_result_that_is_too_big_is_replaced_by_advice() -> None:
    result = await run(tool_that("x" * 2000), "give")
    assert result["isError"] is True
    assert "Ask for less" in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("tools/call", {"name": "nothing"}, -32602, "add"),
        ("tools/call", {"name": "add", "arguments": [1]}, -32602, "arguments"),
        ("tools/call", None, -32602, "name"),
        ("resources/list", {}, -32601, "resources/list"),
    ],
)
async def test_a_request_that_cannot_be_understood_is_refused_with_the_reason(
    method: str, params: Any, code: int, words: str
) -> None:
    with pytest.raises(RpcError) as refused:
        await answer(Desk().server, method, params)
    assert refused.value.code == code
    assert words in refused.value.message


async def test_progress_is_told_only_to_an_agent_that_asked_for_it() -> None:
    for meta, expected in (({}, []), ({"progressToken": 7}, [7])):
        desk, told = Desk(), list[tuple[str, Any]]()
        desk.release.set()
        async with asyncio.timeout(5):
            await answer(desk.server, "tools/call", {"name": "slow", "_meta": meta}, told)
        assert [value["progressToken"] for _, value in told] == expected
        assert all(name == "notifications/progress" for name, _ in told)


async def test_two_tools_of_one_name_are_a_mistake_of_the_author() -> None:
    async def nothing(call: ToolCall) -> str:
        return ""

    with pytest.raises(ValueError, match="same name"):
        ToolServer("twice", [Tool("a", "", {}, nothing), Tool("a", "", {}, nothing)])
