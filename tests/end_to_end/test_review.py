"""One proposal, seen and decided on from a shell, a chat, a program and the page's service, no matter which process has the session."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portico.domain.events import ProposalUpdated
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, Streamed, detach
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

PEERS = Path(__file__).parents[1] / "peers"
NOTES = "hello world\r\nsecond line ✓\nthird"


@pytest.fixture(autouse=True)
def notes(portico: Portico) -> Path:
    path = portico.workspace / "notes.txt"
    path.write_bytes(NOTES.encode())
    return path


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    words = shlex.split(portico.agent)
    portico.settings({"agents": {"scripted": {"command": words[0], "args": words[1:]}}})
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


class Shared:
    """A session in proposal mode that the server has open."""

    def __init__(self, portico: Portico, server: Server) -> None:
        self.server = server
        self.portico = portico
        started = server.ask(
            "StartSession",
            {"agent": "scripted", "workspace": str(portico.workspace), "mode": "REVIEW_MODE_PROPOSAL"},
        )
        self.id = str(started["session"]["summary"]["sessionId"])

    def writes(self, **files: str) -> None:
        steps = [{"write": {"path": name.replace("_", "."), "content": text}} for name, text in files.items()]
        turn = self.server.stream("Invoke", {"sessionId": self.id, "text": json.dumps(steps)})
        turn.end()

    def watch(self) -> Streamed:
        return self.server.stream("Watch", {"sessionId": self.id})

    def proposals(self) -> list[dict[str, Any]]:
        detail = self.server.ask("GetSession", {"sessionId": self.id})["session"]
        return list(detail.get("proposals", []))

    def review(self, *words: str) -> dict[str, Any]:
        ran = self.portico.run("review", *words, "--session", self.id, "--api")
        assert ran.code == 0, ran.err + ran.text
        return dict(ran.api)


def test_what_a_shell_decides_is_done_by_the_server_that_has_the_session(
    portico: Portico, server: Server, notes: Path
) -> None:
    shared = Shared(portico, server)
    shared.writes(new_txt="new\n", notes_txt="changed\n")
    watching = shared.watch()
    watching.until("PROPOSAL_STATUS_OPEN")
    assert notes.read_bytes() == NOTES.encode()
    assert shared.review("apply", "new.txt")["proposal"]["canUndo"] is True
    watching.until('"canUndo": true')
    assert (portico.workspace / "new.txt").read_text() == "new\n"
    shared.review("undo")
    assert not (portico.workspace / "new.txt").exists()
    assert [file["path"] for file in shared.proposals()[0]["files"]] == ["new.txt", "notes.txt"]
    shared.review("apply")
    watching.until("PROPOSAL_STATUS_APPLIED")
    watching.leave()
    assert shared.proposals() == []
    assert notes.read_text() == "changed\n"


def test_a_conflict_is_refused_by_the_server_with_the_same_words(
    portico: Portico, server: Server, notes: Path
) -> None:
    shared = Shared(portico, server)
    shared.writes(notes_txt="theirs\n")
    notes.write_text("mine\n")
    ran = portico.run("review", "apply", "--session", shared.id)
    assert (ran.code, ran.complaint[0]) == (
        5,
        "portico: Nothing was written: the same lines of notes.txt changed meanwhile, or the file is gone.",
    )
    shared.review("apply", "--theirs", "notes.txt")
    assert notes.read_text() == "theirs\n"


def test_the_mode_of_a_session_in_the_server_is_changed_from_a_shell(
    portico: Portico, server: Server
) -> None:
    shared = Shared(portico, server)
    steps = json.dumps([{"write": {"path": "new.txt", "content": "new\n"}}])
    ran = portico.run("exec", "--session", shared.id, "--mode", "direct", steps)
    assert ran.code == 0, ran.err
    assert (portico.workspace / "new.txt").exists()
    status = server.ask("GetReviewStatus", {"sessionId": shared.id})
    assert status["mode"] == "REVIEW_MODE_DIRECT"
    assert "git init" in status["hint"]
    listed = portico.run("checkpoints", "list", "--session", shared.id, "--api").api["checkpoints"]
    before = next(one["checkpointId"] for one in listed if one["moment"] == "before_turn")
    restored = portico.run("checkpoints", "restore", before, "--session", shared.id, "--api")
    assert (restored.code, restored.api["restored"]["files"]) == (0, 1)
    assert not (portico.workspace / "new.txt").exists()


def test_a_session_that_the_server_does_not_have_is_decided_on_here_and_seen_there(
    portico: Portico, server: Server
) -> None:
    steps = [{"write": {"path": "new.txt", "content": "new\n"}}]
    session_id = portico.exec(steps, "--mode", "proposal").stream.session_id
    watching = server.stream("Watch", {"sessionId": session_id})
    watching.until("PROPOSAL_STATUS_OPEN")
    assert portico.run("review", "apply").code == 0
    watching.until("PROPOSAL_STATUS_APPLIED")
    watching.leave()
    assert (portico.workspace / "new.txt").exists()


async def test_a_person_decides_in_the_chat_and_goes_on(portico: Portico) -> None:
    words = (str(PROGRAM), "chat", "--agent-command", portico.agent, "--mode", "proposal")
    terminal = Terminal(words, cwd=portico.workspace, environ=portico.environ({"TERM": "xterm-256color"}))
    try:
        terminal.until("❯")
        terminal.press("write new.txt hello\r")
        terminal.until("Proposed: 1 file +1")
        terminal.until("✓")
        terminal.until("1 file proposed")
        terminal.press("/proposal diff\r")
        terminal.until("+hello")
        terminal.until("❯")
        terminal.press("/proposal apply\r")
        terminal.until("Applied to your files")
        terminal.until("❯")
        assert (portico.workspace / "new.txt").read_text() == "hello"
        terminal.press("/proposal apply\r")
        terminal.until("Nothing is proposed")
        terminal.until("❯")
        terminal.press("say good\r")
        terminal.until("good")
        terminal.until("✓")
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0
    finally:
        terminal.close()
    session_id = portico.run("review", "show", "--api").api["sessionId"]
    told = [one.payload for one in await portico.log(session_id) if isinstance(one.payload, ProposalUpdated)]
    assert [one.status for one in told] == ["open", "applied"]


@pytest.mark.parametrize("made_with", ["typescript", "python"])
def test_an_agent_made_with_an_official_sdk_is_reviewed_before_it_writes(
    portico: Portico, notes: Path, tmp_path: Path, made_with: str
) -> None:
    node = shutil.which("node")
    program = [sys.executable, "sdk_agent.py"] if made_with == "python" else [str(node), "agent.mjs"]
    peer = shlex.join([program[0], str(PEERS / program[1]), str(tmp_path / "peer")])
    ran = portico.exec("everything", "--agent-command", peer, "--allow", "edit:*.txt", "--mode", "proposal")
    assert (ran.code, ran.err) == (0, "")
    assert notes.read_bytes() == NOTES.encode()
    (proposal,) = ran.stream.all("proposal_updated")
    assert [file["path"] for file in proposal["files"]] == ["notes.txt"]
    # Where it works is its own affair: the person reads of the places that they know.
    assert str(portico.state / "review") not in ran.text.replace(proposal["files"][0]["diff"], "")
    assert portico.run("review", "apply").code == 0
    assert notes.read_bytes() == NOTES.replace("world", "wörld").encode()


def test_porter_proposes_and_its_patch_is_one_that_git_applies(portico: Portico, tmp_path: Path) -> None:
    ran = portico.run("exec", "--mode", "proposal", "--allow", "edit", "/write plan.md\nfirst line")
    assert ran.code == 0, ran.err
    assert not (portico.workspace / "plan.md").exists()
    (tmp_path / "a.patch").write_bytes(portico.run("review", "show", "--diff").out)
    subprocess.run(
        ("git", "apply", "--check", str(tmp_path / "a.patch")), cwd=portico.workspace, check=True, timeout=30
    )
    assert portico.run("review", "apply", "plan.md").code == 0
    assert "first line" in (portico.workspace / "plan.md").read_text()


def test_two_sessions_work_side_by_side_each_in_a_tree_of_its_own(portico: Portico) -> None:
    waiting = [{"save": {"path": "one.txt", "content": "1\n"}}, {"touch": "there"}, {"hang": {}}]
    first = portico.start_exec(waiting, "--mode", "proposal")
    first.until("running")
    ran = portico.exec([{"save": {"path": "two.txt", "content": "2\n"}}], "--mode", "proposal")
    assert ran.code == 0, ran.err
    assert portico.run("review", "apply", "--session", ran.stream.session_id).code == 0
    assert (portico.workspace / "two.txt").exists()
    first.signal(2)
    ended = first.end()
    assert not (portico.workspace / "one.txt").exists()
    assert '"one.txt"' in ended.text
