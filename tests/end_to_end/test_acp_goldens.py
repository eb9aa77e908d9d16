"""The golden messages of the official Python SDK pass through every proxy of ours, byte by byte."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy
from portico.conductor.proxies.editor_context import EditorContext
from portico.domain import codecs
from portico.rpc.messages import Frame
from scripts.fetch_goldens import fetch
from tests.conductor.support import Ends, Wire, chain

SESSION = "sess_abc123def456"
UPDATE = b'{"sessionId":"sess_abc123def456","update":%b}'
CHUNK = UPDATE % b'{"sessionUpdate":"agent_message_chunk","content":%b}'
TOOL = UPDATE % b'{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[%b]}'
PERMISSION = "session/request_permission"


class Golden(msgspec.Struct, frozen=True):
    """Conversion of a golden body to a message: sender, kind of message, and envelope."""

    sender: Literal["client", "agent"]
    kind: Literal["request", "notification", "response"]
    method: str
    around: bytes = b"%b"

    def line(self, body: bytes, request_id: object) -> bytes:
        """Spaced as no encoder of ours would do it."""
        inside, shown_id = self.around % body, msgspec.json.encode(request_id)
        if self.kind == "response":
            return b'{"result" : %b, "id": %b, "jsonrpc": "2.0"}' % (inside, shown_id)
        known_as = b'"id" :%b, ' % shown_id if self.kind == "request" else b""
        method = msgspec.json.encode(self.method)
        return b'{"params": %b, %b"jsonrpc":"2.0", "method" : %b }' % (inside, known_as, method)


def update(around: bytes = UPDATE) -> Golden:
    return Golden("agent", "notification", "session/update", around)


GOLDENS = {
    "cancel_notification": Golden("client", "notification", "session/cancel"),
    "content_audio": update(CHUNK),
    "content_image": update(CHUNK),
    "content_resource_blob": update(CHUNK),
    "content_resource_link": update(CHUNK),
    "content_resource_text": update(CHUNK),
    "content_text": update(CHUNK),
    "fs_read_text_file_request": Golden("agent", "request", "fs/read_text_file"),
    "fs_read_text_file_response": Golden("client", "response", "fs/read_text_file"),
    "fs_write_text_file_request": Golden("agent", "request", "fs/write_text_file"),
    "initialize_request": Golden("client", "request", "initialize"),
    "initialize_response": Golden("agent", "response", "initialize"),
    "new_session_request": Golden("client", "request", "session/new"),
    "new_session_response": Golden("agent", "response", "session/new"),
    "permission_outcome_cancelled": Golden("client", "response", PERMISSION, b'{"outcome": %b}'),
    "permission_outcome_selected": Golden("client", "response", PERMISSION, b'{"outcome": %b}'),
    "prompt_request": Golden("client", "request", "session/prompt"),
    "request_permission_request": Golden("agent", "request", PERMISSION),
    "request_permission_response_selected": Golden("client", "response", PERMISSION),
    "session_update_agent_message_chunk": update(),
    "session_update_agent_thought_chunk": update(),
    "session_update_config_option_update": update(),
    "session_update_plan": update(),
    "session_update_tool_call": update(),
    "session_update_tool_call_edit": update(),
    "session_update_tool_call_locations_rawinput": update(),
    "session_update_tool_call_read": update(),
    "session_update_tool_call_update_content": update(),
    "session_update_tool_call_update_more_fields": update(),
    "session_update_user_message_chunk": update(),
    "set_session_config_option_request": Golden("client", "request", "session/set_config_option"),
    "set_session_config_option_response": Golden("agent", "response", "session/set_config_option"),
    "tool_content_content_text": update(TOOL),
    "tool_content_diff": update(TOOL),
    "tool_content_diff_no_old": update(TOOL),
    "tool_content_terminal": update(TOOL),
}
# Questions to a person go on under another id; the bridge says that it can bring MCP servers over ACP.
RENAMED = {name for name, golden in GOLDENS.items() if golden.method == PERMISSION}
CHANGED = {"initialize_response"}


@pytest.fixture(scope="session")
def goldens() -> Path:
    return fetch()


@pytest.fixture
async def ends(tmp_path: Path) -> AsyncIterator[Ends]:
    """A chain with all our proxies, and an editor that has nothing to tell."""
    approvals = FileApprovals(tmp_path / "approvals.json", lambda: 0)
    proxies = (
        EditorContext(tmp_path / "state.json", lambda: 0.0),
        PermissionBroker(agent="golden", policy=PermissionPolicy(), approvals=approvals),
        McpBridge(),
    )
    async with chain(*proxies) as made:
        yield made


async def ask(asker: Wire, answerer: Wire, method: str, params: bytes, request_id: int) -> object:
    """Send a request; the id under which it arrives."""
    golden = Golden("client", "request", method)
    asker.send(golden.line(params, request_id))
    return (await answerer.receive())["id"]


async def open_session(ends: Ends) -> None:
    await ends.initialize()
    arrived = await ask(ends.client, ends.agent, "session/new", b'{"cwd":"/","mcpServers":[]}', 1)
    ends.agent.send(Golden("agent", "response", "").line(b'{"sessionId":"%b"}' % SESSION.encode(), arrived))
    await ends.client.receive()


async def passed(ends: Ends, golden: Golden, body: bytes, question: bytes) -> tuple[bytes, bytes]:
    """A golden message as it was sent, and as it came out at the other end."""
    sender, receiver = (ends.client, ends.agent) if golden.sender == "client" else (ends.agent, ends.client)
    request_id: object = 7
    if golden.kind == "response":
        request_id = await ask(receiver, sender, golden.method, question, 7)
    sent = golden.line(body, request_id)
    sender.send(sent)
    return sent, await receiver.line()


def parts(line: bytes) -> tuple[object, ...]:
    """Everything but the id, as bytes."""
    frame = codecs.decode_json(line, Frame)
    bodies = (bytes(one) if isinstance(one, msgspec.Raw) else one for one in (frame.params, frame.result))
    return (frame.method, *bodies, frame.error)


def on_one_line(golden: Path) -> bytes:
    return golden.read_bytes().replace(b"\n", b"  ")


def test_every_golden_message_of_the_sdk_has_its_place_here(goldens: Path) -> None:
    assert {path.stem for path in goldens.iterdir()} == GOLDENS.keys()


@pytest.mark.parametrize("name", sorted(GOLDENS.keys() - CHANGED))
async def test_it_passes_byte_by_byte_but_for_ids(name: str, goldens: Path, ends: Ends) -> None:
    golden = GOLDENS[name]
    if golden.method != "initialize":
        await open_session(ends)
    question = b"{}"
    if golden.method == PERMISSION:
        question = on_one_line(goldens / "request_permission_request.json")
    if golden.method == "session/new":
        question = on_one_line(goldens / "new_session_request.json")
    sent, received = await passed(ends, golden, on_one_line(goldens / f"{name}.json"), question)
    assert parts(received) == parts(sent)
    if name not in RENAMED:
        assert received == sent


async def test_what_an_agent_can_do_is_only_added_to(goldens: Path, ends: Ends) -> None:
    body = on_one_line(goldens / "initialize_response.json")
    sent, received = await passed(ends, GOLDENS["initialize_response"], body, b'{"protocolVersion":1}')
    told, heard = codecs.decode_json(sent), codecs.decode_json(received)
    assert heard["result"]["agentCapabilities"].pop("mcpCapabilities") == {"acp": True}
    del told["result"]["agentCapabilities"]["mcpCapabilities"]
    assert heard["result"] == told["result"]
