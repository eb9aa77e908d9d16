"""A client made with the official TypeScript SDK drives `portico agent`."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from portico import __version__
from tests.support.frames import FrameWatch
from tests.support.program import PROGRAM, Portico
from tests.support.stream import Json

CLIENT = Path(__file__).parents[1] / "peers" / "client.mjs"
CAPABILITIES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
INITIALIZE = {
    "call": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": CAPABILITIES},
}

Drive = Callable[..., list[Json]]


@pytest.fixture
def drive(portico: Portico) -> Drive:
    """Let the client do some steps after `initialize`; what came of each."""

    def go(*steps: Json, initialize: Json = INITIALIZE) -> list[Json]:
        node = shutil.which("node")
        assert node is not None, "the tests need Node"
        done = subprocess.run(
            [node, CLIENT, json.dumps([initialize, *steps]), PROGRAM, "agent"],
            cwd=portico.workspace,
            env=portico.environ(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return go


def new(portico: Portico) -> Json:
    return {"call": "session/new", "params": {"cwd": str(portico.workspace), "mcpServers": []}}


def prompt(text: str, session_id: str = "$session", **more: object) -> Json:
    blocks = [{"type": "text", "text": text}]
    return {"call": "session/prompt", "params": {"sessionId": session_id, "prompt": blocks}, **more}


def reopen(method: str, portico: Portico, session_id: str) -> Json:
    params = {"sessionId": session_id, "cwd": str(portico.workspace), "mcpServers": []}
    return {"call": f"session/{method}", "params": params}


def kinds(seen: Json) -> list[str]:
    return [update["update"]["sessionUpdate"] for update in seen["updates"]]


def said(seen: Json) -> str:
    updates = [one["update"] for one in seen["updates"]]
    return "".join(one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk")


def asked(seen: Json) -> list[str]:
    return [one["method"] for one in seen["asked"]]


def test_it_introduces_itself(drive: Drive) -> None:
    (hello,) = drive()
    assert hello["result"]["protocolVersion"] == 1
    assert hello["result"]["agentInfo"] == {"name": "porter", "title": "Porter", "version": __version__}
    capabilities = hello["result"]["agentCapabilities"]
    assert capabilities["loadSession"]
    assert {"list", "resume", "close", "delete"} <= capabilities["sessionCapabilities"].keys()


def test_a_client_of_another_version_is_answered_with_ours(drive: Drive) -> None:
    (hello,) = drive(initialize={"call": "initialize", "params": {"protocolVersion": 65535}})
    assert hello["result"]["protocolVersion"] == 1


def test_it_announces_its_commands_and_answers(
    drive: Drive, portico: Portico, frame_watch: FrameWatch
) -> None:
    _, made, helped = drive(new(portico), prompt("/help"))
    assert made["result"]["sessionId"]
    assert kinds(made) == ["available_commands_update"]
    names = [one["name"] for one in made["updates"][0]["update"]["availableCommands"]]
    assert {
        "help",
        "search",
        "read",
        "explain",
        "write",
        "edit",
        "fix",
        "test",
        "run",
        "todo",
        "plan",
    } <= set(names)
    assert helped["result"]["stopReason"] == "end_turn"
    assert all(name in said(helped) for name in names)
    assert {one["sessionId"] for one in helped["updates"]} == {made["result"]["sessionId"]}
    (tap,) = frame_watch.folder.glob("*.ndjson")
    assert json.loads(tap.read_text().splitlines()[0])["role"] == "agent"


def test_it_writes_through_the_client_after_asking(drive: Drive, portico: Portico) -> None:
    path = portico.workspace / "notes.txt"
    _, _, written = drive(new(portico), prompt("/write notes.txt\nhéllo\nworld"))
    assert path.read_text() == "héllo\nworld\n"
    assert asked(written).index("session/request_permission") < asked(written).index("fs/write_text_file")
    (question,) = [one["params"] for one in written["asked"] if one["method"] == "session/request_permission"]
    (diff,) = [part for part in question["toolCall"]["content"] if part["type"] == "diff"]
    assert (diff["path"], diff["newText"]) == (str(path), "héllo\nworld\n")


def test_it_takes_no_for_an_answer(drive: Drive, portico: Portico) -> None:
    _, _, refused = drive(new(portico), prompt("/write notes.txt\nhello", answer="reject_once"))
    assert refused["result"]["stopReason"] == "end_turn"
    assert "fs/write_text_file" not in asked(refused)
    assert not (portico.workspace / "notes.txt").exists()


def test_it_reads_through_the_client(drive: Drive, portico: Portico) -> None:
    (portico.workspace / "notes.txt").write_text("one\ntwo ✓\n")
    _, _, read = drive(new(portico), prompt("/read notes.txt"))
    assert "fs/read_text_file" in asked(read)
    assert "two ✓" in said(read)


def test_it_runs_commands_in_the_clients_terminal(drive: Drive, portico: Portico) -> None:
    _, _, run = drive(new(portico), prompt("/run printf 'one\\ntwo\\n'; exit 3"))
    calls = asked(run)
    assert calls[0] == "session/request_permission"
    assert calls[1] == "terminal/create"
    assert calls[-1] == "terminal/release"
    shown = [
        part
        for one in run["updates"]
        for part in one["update"].get("content") or []
        if isinstance(part, dict)
    ]
    assert any(part.get("type") == "terminal" for part in shown)
    assert "exit code 3" in said(run)


def test_a_turn_is_cancelled(drive: Drive, portico: Portico) -> None:
    command = prompt("/run echo $$ > pid; sleep 1000", cancelAt="tool_call_update")
    _, _, cancelled, again = drive(new(portico), command, prompt("/help"))
    assert cancelled["result"]["stopReason"] == "cancelled"
    assert again["result"]["stopReason"] == "end_turn"


def test_sessions_outlive_the_process(drive: Drive, portico: Portico) -> None:
    _, made, _ = drive(new(portico), prompt("/plan first; second"))
    session_id = made["result"]["sessionId"]
    _, listed, loaded, shown = drive(
        {"call": "session/list", "params": {}},
        reopen("load", portico, session_id),
        prompt("/plan", session_id),
    )
    (info,) = listed["result"]["sessions"]
    assert (info["sessionId"], info["cwd"]) == (session_id, str(portico.workspace))
    assert info["title"]
    assert "error" not in loaded
    assert "user_message_chunk" in kinds(loaded)
    assert "first" in said(loaded)
    assert "first" in said(shown)


def test_a_resumed_session_is_not_told_again(drive: Drive, portico: Portico) -> None:
    _, made, _ = drive(new(portico), prompt("/plan first; second"))
    session_id = made["result"]["sessionId"]
    _, resumed, shown = drive(reopen("resume", portico, session_id), prompt("/plan", session_id))
    assert "error" not in resumed
    assert not {"user_message_chunk", "agent_message_chunk"} & set(kinds(resumed))
    assert "second" in said(shown)


def test_a_closed_session_can_be_resumed_and_a_deleted_one_cannot(drive: Drive, portico: Portico) -> None:
    close = {"call": "session/close", "params": {"sessionId": "$session"}}
    delete = {"call": "session/delete", "params": {"sessionId": "$session"}}
    _, made, _, closed, resumed, deleted, lost = drive(
        new(portico),
        prompt("/help"),
        close,
        reopen("resume", portico, "$session"),
        delete,
        reopen("load", portico, "$session"),
    )
    assert made["result"]["sessionId"]
    assert "error" not in closed
    assert "error" not in resumed
    assert "error" not in deleted
    assert lost["error"]["code"] == -32002


@pytest.mark.parametrize(
    ("call", "params", "code"),
    [
        ("session/prompt", {"sessionId": "none", "prompt": []}, -32002),
        ("session/load", {"sessionId": "none", "cwd": "/", "mcpServers": []}, -32002),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"mcpServers": []}, -32602),
        ("session/fly", {}, -32601),
        ("_weather", {}, -32601),
    ],
)
def test_what_cannot_be_done_is_answered_with_its_reason(
    drive: Drive, call: str, params: Json, code: int
) -> None:
    _, failed = drive({"call": call, "params": params})
    assert failed["error"]["code"] == code
    assert failed["error"]["message"]
