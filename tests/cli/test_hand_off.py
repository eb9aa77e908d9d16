"""A session that continues with another agent: from the command line, in a chat, and through the server."""

import shlex

from portico.domain.events import Notice
from portico.domain.notice_codes import CONTINUED_FROM, CONTINUED_WITH
from tests.support.editor import typescript_agent
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, detach
from tests.support.stream import Json
from tests.support.terminal import Terminal


def settings_with_agents(portico: Portico) -> None:
    commands = {"typescript": typescript_agent(portico), "scripted": portico.agent}
    agents = {
        name: {"command": words[0], "args": words[1:]}
        for name, words in ((name, shlex.split(command)) for name, command in commands.items())
    }
    portico.settings({"agents": agents})


def answer_in(portico: Portico, session_id: str, prompt: str) -> str:
    return portico.run("exec", "--json-stream", "--session", session_id, prompt).stream.answer


def hand_off(portico: Portico, session_id: str, agent: str) -> Json:
    return portico.run("sessions", "handoff", session_id, "--agent", agent, "--api").api


async def mark(portico: Portico, session_id: str, code: str) -> Notice:
    payloads = [event.payload for event in await portico.log(session_id)]
    (found,) = [one for one in payloads if isinstance(one, Notice) and one.code == code]
    return found


async def test_from_a_typescript_agent_to_porter_and_back(portico: Portico) -> None:
    settings_with_agents(portico)
    (portico.workspace / "notes.txt").write_text("old\n")
    begun = portico.run("exec", "--json-stream", "--agent", "typescript", "--allow", "edit", "tour")
    first = begun.stream.session_id
    told = portico.run("sessions", "handoff", first).text
    assert "> tour" in told
    assert "- In progress: edit" in told
    assert "- notes.txt (edited)" in told
    there = hand_off(portico, first, "porter")
    assert there["continues"] == first
    assert (there["mode"], there["session"]["workspace"]) == ("direct", str(portico.workspace))
    second = there["session"]["sessionId"]
    assert (await mark(portico, first, CONTINUED_WITH)).other_session_id == second
    assert (await mark(portico, second, CONTINUED_FROM)).text.startswith(
        "Continued from “tour” (typescript)."
    )
    assert portico.run("exec", "--session", second, "/help").code == 0
    third = hand_off(portico, second, "typescript")["session"]["sessionId"]
    back = answer_in(portico, third, "finish it")
    assert back.startswith("<hand-off>")
    assert "Agent: porter" in back
    assert "> - notes.txt (edited)" in back
    assert back.endswith("finish it")


def test_an_unknown_agent_is_named_and_nothing_is_started(portico: Portico) -> None:
    session_id = portico.exec("say one").stream.session_id
    refused = portico.run("sessions", "handoff", session_id, "--agent", "nothere")
    assert refused.code != 0
    assert "nothere" in refused.err
    assert portico.run("sessions", "list", "--api").api["count"] == 1


def test_a_chat_continues_with_another_agent(portico: Portico) -> None:
    settings_with_agents(portico)
    command = (PROGRAM, "chat", "--agent", "scripted")
    terminal = Terminal(command, cwd=portico.workspace, environ=portico.environ({"TERM": "xterm-256color"}))
    terminal.until("❯")
    terminal.press("say one\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("/handoff typescript\r")
    terminal.until("Continued from “say one”")
    terminal.until("❯")
    terminal.press("go on\r")
    terminal.until("Last answer of the agent")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    terminal.close()
    listed = portico.run("sessions", "list", "--api").api["sessions"]
    assert listed[0]["agent"] == "typescript"
    assert [one["title"] for one in listed] == ["say one", "say one"]


async def test_a_session_that_the_server_has_open_is_handed_off_there(
    portico: Portico, server: Server
) -> None:
    settings_with_agents(portico)
    detach(portico)
    request = {"workspace": str(portico.workspace), "agent": "scripted"}
    session_id = server.ask("StartSession", request)["session"]["summary"]["sessionId"]
    server.stream("Invoke", {"sessionId": session_id, "text": "say one"}).end()
    continued = hand_off(portico, session_id, "typescript")["session"]["sessionId"]
    assert (await mark(portico, session_id, CONTINUED_WITH)).other_session_id == continued
    detail = server.ask("GetSession", {"sessionId": continued})["session"]
    assert detail["desk"]["draft"] == "Continue with the open points."
    server.stream("Invoke", {"sessionId": continued, "text": "go on"}).until("> say one")
