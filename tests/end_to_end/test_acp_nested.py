"""`portico acp` as a proxy in `portico acp`, with the proxies of the documentation in it and an agent behind.

The editor, the agent and the proxies speak plain JSON-RPC here, so that every part of a message can be seen.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.editor import PEERS, Editor, node
from tests.support.processes import members
from tests.support.program import PROGRAM, Portico
from tests.support.stream import Json

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "conductor.md"
AGENT = shlex.join([sys.executable, str(PEERS / "echo_agent.py")])
SIGNED = {"type": "text", "text": "Signed, the user."}


def documented(language: str) -> str:
    """The program in this language that the documentation shows."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return str(found)


@pytest.fixture(params=["python", "js"])
def signature(request: pytest.FixtureRequest, portico: Portico) -> Json:
    """The documented proxy, as the settings name it."""
    if request.param == "python":
        program, path = sys.executable, portico.home / "signature.py"
    else:
        program, path = node(), portico.home / "signature.mjs"
    path.write_text(documented(request.param))
    return {"command": program, "args": [str(path)]}


@pytest.fixture
def editor(portico: Portico, signature: Json) -> Editor:
    """One that has shaken hands through three conductors."""
    deepest = {"command": str(PROGRAM), "args": ["acp", "--proxy", "signature"]}
    inner = {"command": str(PROGRAM), "args": ["acp", "--proxy", "deepest"]}
    portico.settings({"proxies": {"signature": signature, "deepest": deepest, "inner": inner}})
    made = Editor(portico, "--agent-command", AGENT, "--proxy", "inner")
    assert made.initialize()["result"]["agentCapabilities"]["mcpCapabilities"] == {"http": True, "acp": True}
    return made


def test_a_prompt_is_signed_once_and_nothing_else_is_changed(editor: Editor) -> None:
    params = {"sessionId": "s", "prompt": [{"type": "text", "text": "hé"}], "_meta": {"m": [1, None]}}
    answered = editor.call("session/prompt", params)["result"]
    reached = answered["_meta"]["reached"]
    assert answered["stopReason"] == "end_turn"
    assert (reached["method"], reached["params"]) == (
        "session/prompt",
        {**params, "prompt": [*params["prompt"], SIGNED]},
    )
    assert editor.hang_up().code == 0


def test_results_errors_and_meta_come_back_as_they_are(editor: Editor) -> None:
    params = {"_meta": {"of": "the editor"}, "n": 1.5, "deep": [{"ü": None}]}
    echoed = editor.call("_echo", params)
    assert echoed["result"]["params"] == params
    error = {"code": -4711, "message": "no ✗", "data": {"why": [1, {"_meta": 2}]}}
    assert editor.call("_fail", error)["error"] == error
    assert editor.hang_up().code == 0


def test_what_the_agent_asks_is_answered_by_the_editor(editor: Editor) -> None:
    asking = editor.request("_ask", {"colour": "?", "_meta": {"of": "the agent"}})
    question = editor.receive()
    assert (question["method"], question["params"]) == (
        "_question",
        {"colour": "?", "_meta": {"of": "the agent"}},
    )
    error = {"code": -1, "message": "none", "data": [0]}
    editor.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
    assert editor.answer_to(asking)["result"]["error"] == error
    assert editor.hang_up().code == 0


def test_a_cancellation_of_the_editor_reaches_the_agent_under_the_id_that_the_agent_knows(
    editor: Editor,
) -> None:
    waiting = editor.request("_wait", {})
    assert editor.receive()["method"] == "_waiting"
    editor.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": waiting}})
    error = editor.answer_to(waiting)["error"]
    assert (error["code"], error["message"]) == (-32800, "cancelled")
    assert error["data"]["named"] != waiting, "an id belongs to one hop"
    assert editor.hang_up().code == 0


def test_a_cancellation_of_the_agent_reaches_the_editor_under_the_id_that_the_editor_knows(
    editor: Editor,
) -> None:
    asking = editor.request("_recall", {"colour": "?"})
    question, cancel = editor.receive(), editor.receive()
    assert question["method"] == "_question"
    assert (cancel["method"], cancel["params"]) == ("$/cancel_request", {"requestId": question["id"]})
    editor.send({"jsonrpc": "2.0", "id": question["id"], "result": "too late"})
    assert editor.answer_to(asking)["result"]["result"] == "too late"
    assert editor.hang_up().code == 0


def test_only_the_outermost_conductor_starts_an_agent(editor: Editor, portico: Portico) -> None:
    started = [process.cmdline() for process in members(portico.mark)]
    programs = [words[1:3] for words in started if words[0] == sys.executable]
    assert sum(words[0].endswith("echo_agent.py") for words in programs) == 1
    assert sum(words == [str(PROGRAM), "acp"] for words in programs) == 3
    assert editor.hang_up().code == 0


def test_a_proxy_that_dies_deep_inside_is_named(portico: Portico) -> None:
    fragile = {"command": "sh", "args": ["-c", "read line; echo out of ink >&2; exit 9"]}
    inner = {"command": str(PROGRAM), "args": ["acp", "--proxy", "fragile"]}
    portico.settings({"proxies": {"fragile": fragile, "inner": inner}})
    editor = Editor(portico, "--agent-command", AGENT, "--proxy", "inner")
    error = editor.initialize()["error"]
    assert "The proxy fragile is gone. It ended with exit code 9." in error["message"]
    assert "out of ink" in error["message"]
    assert editor.hang_up().code == 0


def test_a_proxy_that_never_answers_deep_inside_is_named_by_the_conductor_that_started_it(
    portico: Portico,
) -> None:
    deaf = {"command": "sh", "args": ["-c", "echo cannot hear >&2; while read line; do :; done"]}
    inner = {"command": str(PROGRAM), "args": ["acp", "--proxy", "deaf", "--start-limit", "1"]}
    portico.settings({"proxies": {"deaf": deaf, "inner": inner}})
    editor = Editor(portico, "--agent-command", AGENT, "--proxy", "inner")
    error = editor.initialize()["error"]
    assert "The proxy deaf did not answer initialize within 1 s." in error["message"]
    assert "cannot hear" in error["message"]
    assert editor.hang_up().code == 0


def test_tools_of_the_editor_reach_an_agent_over_http_if_that_is_wished(portico: Portico) -> None:
    editor = Editor(portico, "--agent-command", AGENT, "--mcp-bridge", "http")
    editor.initialize()
    offered = {"type": "acp", "name": "tools", "serverId": "of-the-editor"}
    editor.call("session/new", {"cwd": str(portico.workspace), "mcpServers": [offered]})
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    message = {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": meta}}
    posting = editor.request("_post", message)
    results: dict[str, Json] = {"server/discover": {}, "tools/list": {"tools": []}}
    for method, result in results.items():
        asked = editor.receive()
        assert (asked["method"], asked["params"]["serverId"]) == ("mcp/message", "of-the-editor")
        assert asked["params"]["method"] == method
        editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"result": result}})
    answer = editor.answer_to(posting)["result"]
    assert answer == {"status": 200, "body": {"jsonrpc": "2.0", "id": 5, "result": {"tools": []}}}
    assert editor.hang_up().code == 0
