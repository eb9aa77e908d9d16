"""The board in the terminal: sessions of every process by group, answered and opened from there; and costs."""

import sys

import pytest

from tests.cli.test_hand_off import settings_with_agents
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, detach
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

PRICED = '[{"say": "All is well."}, {"usage": {"used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "USD"}}}]'
PROPOSING = '[{"write": {"path": "notes.txt", "content": "one\\ntwo\\n"}}, {"title": "Two lines"}]'


def sit(portico: Portico, *words: str) -> Terminal:
    environ = portico.environ({"TERM": "xterm-256color"})
    return Terminal((PROGRAM, *words), cwd=portico.workspace, environ=environ)


def test_a_program_gets_every_session_with_group_cost_and_size(portico: Portico) -> None:
    assert portico.exec(PRICED).code == 0
    assert portico.exec(PROPOSING, "--mode", "proposal").code == 0
    found = portico.run("board", "--api").api["sessions"]
    by_group = {one["group"]: one for one in found}
    assert set(by_group) == {"done", "to_review"}
    assert (by_group["done"]["cost"], by_group["done"]["lastLine"]) == (0.5, "All is well.")
    proposed = by_group["to_review"]
    assert (proposed["title"], proposed["files"], proposed["added"], proposed["removed"]) == (
        "Two lines",
        1,
        2,
        0,
    )
    printed = portico.run("board").text
    assert "to review" in printed
    assert "1 file +2 −0" in printed
    listed = portico.run("sessions", "list").text
    assert "done, 1 to review" in listed


def test_a_request_on_the_server_is_answered_with_one_key(portico: Portico, server: Server) -> None:
    settings_with_agents(portico)
    detach(portico)
    session_id = server.ask("StartSession", {"workspace": str(portico.workspace), "agent": "scripted"})[
        "session"
    ]["summary"]["sessionId"]
    turn = server.stream("Invoke", {"sessionId": session_id, "text": "permission"})
    turn.until("permissionRequested")
    terminal = sit(portico, "board")
    try:
        terminal.until("Waiting for you  1")
        terminal.until("n  Reject once")
        terminal.press("n")
        turn.until("rejected")
        turn.end()
        terminal.until("Done  1")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_as_before()
    finally:
        terminal.close()


def test_enter_opens_the_chosen_session_and_comes_back(portico: Portico) -> None:
    portico.exec("say first")
    portico.exec("say second")
    terminal = sit(portico, "board")
    try:
        terminal.until("Done  2")
        terminal.press("j\r")
        terminal.until("continuing")
        terminal.until("❯")
        terminal.press("/exit\r")
        terminal.until("Done  2")
        terminal.press("q")
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_costs_are_grouped_and_drawn_as_bars(portico: Portico) -> None:
    assert "No costs" in portico.run("costs").text
    portico.exec(PRICED)
    told = portico.run("costs", "--by", "session", "--api").api
    assert [(one["cost"], one["sessions"]) for one in told["totals"]] == [(0.5, 1)]
    assert told["budgets"]["turn"] == 1.0
    assert "$0.50" in portico.run("costs", "--by", "folder").text
    refused = portico.run("costs", "--since", "yesterday")
    assert (refused.code, "neither a date nor an age" in refused.err) == (5, True)
    terminal = sit(portico, "costs", "--by", "agent")
    try:
        terminal.until("$0.50")
        terminal.until("█")
        terminal.until("Total: $0.50 in 1 session")
        terminal.until("Porter's budgets: $1.00 a turn")
        assert terminal.end() == 0
    finally:
        terminal.close()
