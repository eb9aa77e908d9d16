"""`portico exec` drives agents that were made with the official SDKs."""

import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.support.frames import FrameWatch
from tests.support.program import Portico

PEERS = Path(__file__).parents[1] / "peers"
NOTES = "hello world\r\nsecond line ✓\nthird"
ANSWER = "Hello, Wörld 🏛\r\nline 2: second line ✓\n"
PERMITTED = f"{ANSWER}exit 3, truncated false: one\ntwo héllo\n"
REFUSED = f"{ANSWER}permission: selected no"


@pytest.fixture(params=["typescript", "python"])
def peer(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The command of an agent made with one of the SDKs."""
    folder = str(tmp_path / "peer")
    if request.param == "python":
        return shlex.join([sys.executable, str(PEERS / "sdk_agent.py"), folder])
    node = shutil.which("node")
    assert node is not None, "the tests need Node"
    return shlex.join([node, str(PEERS / "agent.mjs"), folder])


@pytest.fixture(autouse=True)
def notes(portico: Portico) -> Path:
    path = portico.workspace / "notes.txt"
    path.write_bytes(NOTES.encode())
    return path


def test_everything_an_agent_can_do_is_in_the_stream(
    portico: Portico, peer: str, notes: Path, frame_watch: FrameWatch
) -> None:
    ran = portico.exec("everything", "--agent-command", peer, "--allow", "edit:*.txt")
    stream = ran.stream
    assert (ran.code, ran.err) == (0, "")
    assert stream.answer == PERMITTED
    assert stream.only("thinking")["text"] == "thinking"
    assert stream.only("plan_updated") == {
        "entries": [{"content": "read", "priority": "high", "status": "completed"}]
    }
    assert stream.result["toolsUsed"] == 2
    assert stream.notices == []
    assert frame_watch.check() > 20


def test_an_edit_reaches_the_disk_byte_for_byte(portico: Portico, peer: str, notes: Path) -> None:
    stream = portico.exec("everything", "--agent-command", peer, "--allow", "edit:*.txt").stream
    changed = NOTES.replace("world", "wörld")
    assert notes.read_bytes() == changed.encode()
    edit, _ = stream.all("tool_started")
    diff = {"type": "diff", "path": str(notes), "oldText": NOTES, "newText": changed}
    assert edit == {
        "toolId": "edit-1",
        "title": "Edit notes.txt",
        "toolKind": "edit",
        "status": "pending",
        "locations": [{"path": str(notes), "line": 1}],
        "content": [diff],
        "input": {"path": str(notes)},
    }
    asked = stream.only("permission_requested")
    assert (asked["toolId"], asked["toolKind"], asked["content"]) == ("edit-1", "edit", [diff])
    assert stream.only("permission_resolved")["rule"] == "edit:*.txt"
    done, _ = stream.all("tool_completed")
    assert (done["toolId"], done["success"], done["output"]) == ("edit-1", True, {"written": True})


def test_a_refused_edit_touches_nothing(portico: Portico, peer: str, notes: Path) -> None:
    ran = portico.exec("everything", "--agent-command", peer)
    assert ran.code == 1
    assert ran.stream.answer.startswith(REFUSED)
    assert notes.read_bytes() == NOTES.encode()


def test_a_command_is_run_here_and_its_output_shown(portico: Portico, peer: str) -> None:
    stream = portico.exec("everything", "--agent-command", peer).stream
    pieces = [update["terminal"] for update in stream.all("tool_updated") if "terminal" in update]
    assert "".join(piece.get("text", "") for piece in pieces) == "one\ntwo héllo\n"
    assert [piece.get("exitCode") for piece in pieces if piece.get("ended")] == [3]
    assert [done["success"] for done in stream.all("tool_completed")] == [False, False]


def test_a_turn_is_cancelled_by_the_protocol(portico: Portico, peer: str, frame_watch: FrameWatch) -> None:
    running = portico.start_exec("wait", "--agent-command", peer)
    running.until("text_delta")
    running.signal(signal.SIGINT)
    ran = running.end()
    assert (ran.code, ran.stream.result["stopReason"]) == (1, "cancelled")
    (tap,) = frame_watch.folder.glob("*.ndjson")
    assert "session/cancel" in tap.read_text()


def test_a_session_is_taken_up_again_in_the_agents_own_way(portico: Portico, peer: str) -> None:
    first = portico.exec("remember me", "--agent-command", peer).stream
    again = portico.exec("here I am", "--agent-command", peer, "--continue").stream
    assert (again.session_id, again.answer) == (first.session_id, "here I am")
    (attached,) = [one["agentSession"] for one in again.all("state_changed") if "agentSession" in one]
    if "sdk_agent" in peer:
        assert (attached["attachedBy"], attached["replayedUpdates"]) == ("load", 1)
    else:
        assert attached["attachedBy"] == "resume"


def test_a_session_that_the_agent_forgot_is_told_again(portico: Portico, peer: str, tmp_path: Path) -> None:
    portico.exec("the word is swordfish", "--agent-command", peer)
    shutil.rmtree(tmp_path / "peer")
    stream = portico.exec("what was it?", "--agent-command", peer, "--continue").stream
    assert "swordfish" in stream.answer
    assert any("summary" in notice for notice in stream.notices)


def test_commands_titles_usage_and_links_are_in_the_stream(portico: Portico, peer: str) -> None:
    stream = portico.exec("everything", "--agent-command", peer).stream
    assert stream.only("commands_updated")["commands"] == [
        {"name": "review", "description": "Reviews", "hint": "what"}
    ]
    assert stream.only("title_updated")["title"] == "A title of its own"
    assert stream.only("usage_updated") == {"used": 10, "size": 100}
    (link,) = [delta["block"] for delta in stream.all("text_delta") if "block" in delta]
    assert (link["type"], link["name"], link["uri"]) == ("resource_link", "notes", "file:///notes.txt")
