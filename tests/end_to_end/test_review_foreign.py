"""An agent of other people, made with an official SDK: however it writes, whatever the door, the person decides."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, detach
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

PEER = Path(__file__).parents[1] / "peers" / "sdk_agent.py"
OLD, NEW = "old words\n", "new words"
# By `fs/write_text_file` of the client, and by itself.
WAYS = ("write", "save")
MODES = ("proposal", "worktree")


@pytest.fixture(autouse=True)
def file(portico: Portico) -> Path:
    folder = portico.workspace
    (folder / "a.txt").write_text(OLD)
    identity = ("-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(("git", *words), cwd=folder, check=True, timeout=30)
    return folder / "a.txt"


@pytest.fixture
def peer(tmp_path: Path) -> list[str]:
    return [sys.executable, str(PEER), str(tmp_path / "peer")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_through_exec(portico: Portico, file: Path, peer: list[str], way: str, mode: str) -> None:
    ran = portico.exec(f"{way} a.txt {NEW}", "--agent-command", shlex.join(peer), "--mode", mode)
    assert (ran.code, ran.err) == (0, "")
    assert file.read_text() == OLD
    (proposal,) = ran.stream.all("proposal_updated")
    assert [(one["path"], one["operation"], one["added"], one["removed"]) for one in proposal["files"]] == [
        ("a.txt", "update", 1, 1)
    ]
    assert portico.run("review", "apply").code == 0
    assert file.read_text() == NEW
    assert portico.run("review", "undo").code == 0
    assert file.read_text() == OLD


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_through_the_chat(portico: Portico, file: Path, peer: list[str], way: str, mode: str) -> None:
    words = (str(PROGRAM), "chat", "--agent-command", shlex.join(peer), "--mode", mode)
    terminal = Terminal(words, cwd=portico.workspace, environ=portico.environ({"TERM": "xterm-256color"}))
    try:
        terminal.until("❯")
        terminal.press(f"{way} a.txt {NEW}\r")
        terminal.until("Proposed: 1 file +1")
        terminal.until("✓")
        terminal.until("1 file proposed")
        assert file.read_text() == OLD
        terminal.press("/proposal apply\r")
        terminal.until("Applied to your files")
        terminal.until("❯")
        assert file.read_text() == NEW
        terminal.press("/exit\r")
        assert terminal.end() == 0
    finally:
        terminal.close()


@pytest.fixture
def server(portico: Portico, peer: list[str]) -> Iterator[Server]:
    portico.settings({"agents": {"foreign": {"command": peer[0], "args": peer[1:]}}})
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


def test_through_the_server(portico: Portico, file: Path, server: Server) -> None:
    for mode in MODES:
        for way in WAYS:
            file.write_text(OLD)
            started = server.ask(
                "StartSession",
                {
                    "agent": "foreign",
                    "workspace": str(portico.workspace),
                    "mode": f"REVIEW_MODE_{mode.upper()}",
                },
            )
            session = started["session"]["summary"]["sessionId"]
            server.stream("Invoke", {"sessionId": session, "text": f"{way} a.txt {NEW}"}).end()
            assert file.read_text() == OLD
            (proposal,) = server.ask("GetSession", {"sessionId": session})["session"]["proposals"]
            assert [one["path"] for one in proposal["files"]] == ["a.txt"]
            decision = {"sessionId": session, "proposalId": proposal["proposalId"], "revision": 1}
            assert server.ask("ApplyProposal", decision)["applied"] is True
            assert file.read_text() == NEW


@pytest.mark.parametrize("mode", ["branch", "worktree"])
def test_the_server_offers_git_init_where_there_is_no_repository(
    portico: Portico, server: Server, tmp_path: Path, mode: str
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    replied = server.call(
        "POST",
        "/portico.v1.AgentService/StartSession",
        token=server.token,
        body=f'{{"agent":"foreign","workspace":"{plain}","mode":"REVIEW_MODE_{mode.upper()}"}}'.encode(),
        content_type="application/json",
    )
    assert replied.status == 400
    assert b"git init" in replied.body
    assert b"proposal" in replied.body
