"""The Rust client of the protocol: the frames it sent to a server, recorded, are answered as they were then.

`rust_client.json` is a conversation of the crates `ahp` and `ahp-ws` 1.0.0 with `portico serve`, whose reducers made of
the actions what a snapshot had at the end.
"""

import json
from pathlib import Path
from typing import Any

from portico.acp import _schema as acp
from tests.doors.ahp.support import Peer, agent_host
from tests.sessions.support import FakeAgent

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("rust_client.json").read_text())
CHAT = "ahp-chat:/rust-1"


async def deletes(agent: FakeAgent, request: acp.PromptRequest) -> None:
    assert agent.end is not None
    agent.update(acp.AgentThoughtChunk(content=acp.TextContent(text="hm")))
    agent.say("Hello world")
    options = [
        acp.PermissionOption(option_id="allow_once", name="Allow once", kind="allow_once"),
        acp.PermissionOption(option_id="reject_once", name="Reject once", kind="reject_once"),
    ]
    call = acp.ToolCallUpdate(tool_call_id="p1", title="Delete notes.txt", kind="delete")
    asked = acp.RequestPermissionRequest(session_id=request.session_id, tool_call=call, options=options)
    await agent.end.request_permission(asked)
    agent.say("gone")


async def send(peer: Peer, frame: dict[str, Any], folder: Path) -> Any:
    """Send a recorded frame, in a folder that is here; the answer to a request."""
    params = frame["params"]
    if "workingDirectories" in params:
        params = {**params, "workingDirectories": [folder.as_uri()]}
    if "id" in frame:
        return await peer.ask(frame["method"], **params)
    if params["action"]["type"] == "chat/toolCallConfirmed":
        await peer.action("session/inputNeededSet")
    await peer.send({**frame, "params": params})
    return None


async def test_the_frames_of_the_rust_client_lead_to_the_same_actions(tmp_path: Path) -> None:
    async with agent_host(deletes, tmp_path) as host:
        peer = host.peer("rust-peer")
        *frames, last = RECORDED["client"]
        answers = [await send(peer, frame, tmp_path) for frame in frames]
        await peer.action("chat/turnComplete")
        assert peer.kinds(CHAT) == RECORDED["chatActions"]
        state = (await send(peer, last, tmp_path))["snapshot"]["state"]
        texts = [part.get("content") for part in state["turns"][0]["responseParts"]]
        assert texts == ["hm", "Hello world", None, "gone"]
        first = answers[0]["serverSeq"]
        await peer.leave()

        back = host.peer("rust-peer")
        (reconnect,) = RECORDED["reconnect"]
        reconnect["params"]["lastSeenServerSeq"] = first
        told = await send(back, reconnect, tmp_path)
        assert [one["action"]["type"] for one in told["actions"]] == RECORDED["chatActions"]
