"""Conversations that agents keep by themselves: listed, taken over, forked."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from portico.domain.events import PromptSubmitted, TextDelta
from portico.testing import read_transcript
from tests.support.program import Portico, Ran, agent_command

UPDATED = {"update": {"sessionUpdate": "session_info_update", "updatedAt": "2024-03-01T10:00:00Z"}}


@pytest.fixture
def mine(portico: Portico) -> Portico:
    """The scripted agent under the name `mine`; it remembers its sessions."""
    call_it_mine(portico)
    return portico


def call_it_mine(portico: Portico, script: dict[str, Any] | None = None) -> None:
    command, *arguments = words(portico, script)
    portico.settings({"agents": {"mine": {"command": command, "args": arguments}}})


def words(portico: Portico, script: dict[str, Any] | None = None) -> list[str]:
    return shlex.split(agent_command(script, state=portico.home / "agent", transcript=portico.home / "wire"))


def by_itself(portico: Portico, *prompts: str) -> str:
    """A conversation of which Portico knows nothing any more; the agent's name for it."""
    ran = portico.exec(prompts[0], "--agent", "mine")
    for prompt in prompts[1:]:
        portico.exec(prompt, "--agent", "mine", "--continue")
    name = agent_session(ran)
    assert portico.run("sessions", "delete", ran.stream.session_id).code == 0
    return name


def agent_session(ran: Ran) -> str:
    changes = ran.stream.all("state_changed")
    return str(
        next(change["agentSession"]["agentSessionId"] for change in changes if "agentSession" in change)
    )


def methods(portico: Portico) -> list[str]:
    lines = read_transcript(portico.home / "wire")
    return [
        line.message["method"] for line in lines if line.direction == "received" and "method" in line.message
    ]


class TestListing:
    def test_an_agents_sessions_are_listed_with_titles_and_folders(
        self, mine: Portico, tmp_path: Path
    ) -> None:
        (tmp_path / "other").mkdir()
        mine.exec([{"title": "Old times"}, UPDATED], "--agent", "mine")
        mine.exec("say there", "--agent", "mine", "--cwd", str(tmp_path / "other"))
        ran = mine.run("agents", "sessions", "mine")
        assert ran.code == 0
        first, second = ran.text.splitlines()
        assert first.split() == ["scripted-1", "2024-03-01", str(mine.workspace), "Old", "times"]
        assert second.split() == ["scripted-2", "-", str(tmp_path / "other"), "untitled"]
        here = mine.run("agents", "sessions", "mine", "--cwd", ".", "--api").api
        assert here == {
            "status": "ok",
            "sessions": [
                {
                    "sessionId": "scripted-1",
                    "cwd": str(mine.workspace),
                    "title": "Old times",
                    "updatedAt": "2024-03-01T10:00:00Z",
                }
            ],
            "count": 1,
        }

    def test_every_page_is_read(self, portico: Portico) -> None:
        call_it_mine(portico, {"page_size": 2})
        for number in range(5):
            portico.exec(f"say {number}", "--agent", "mine")
        assert portico.run("agents", "sessions", "mine", "--api").api["count"] == 5
        assert portico.run("agents", "sessions", "mine", "--api", "--limit", "3").api["count"] == 3

    def test_an_agent_that_shows_one_page_for_ever_is_left(self, portico: Portico) -> None:
        page = {"sessions": [{"sessionId": "s", "cwd": "/"}], "nextCursor": "0"}
        call_it_mine(portico, {"on_list": [{"answer": {"result": page}}]})
        assert portico.run("agents", "sessions", "mine", "--api").api["count"] == 1
        assert methods(portico).count("session/list") == 2

    def test_none_is_said_to_be_none(self, mine: Portico) -> None:
        assert mine.run("agents", "sessions", "mine").text == "mine has no sessions.\n"

    def test_an_agent_that_does_not_list_them_says_so(self, portico: Portico) -> None:
        call_it_mine(portico, {"capabilities": {}})
        ran = portico.run("agents", "sessions", "mine")
        assert (ran.code, ran.out) == (5, b"")
        assert "does not list its sessions" in ran.complaint[0]

    def test_a_folder_that_is_none_is_refused(self, mine: Portico) -> None:
        assert mine.run("agents", "sessions", "mine", "--cwd", "nowhere").code == 5


class TestTakingOver:
    async def test_the_conversation_goes_on_and_its_past_is_in_the_log(self, mine: Portico) -> None:
        name = by_itself(mine, "say Paris", "say Rome")
        ran = mine.exec("say Vienna", "--agent", "mine", "--agent-session", name)
        assert ran.code == 0
        assert ran.stream.answer == "Vienna"
        assert ran.stream.lines[0]["payload"]["continued"] is True
        session_id = ran.stream.session_id
        told = [
            event.payload.text
            for event in await mine.log(session_id)
            if isinstance(event.payload, PromptSubmitted | TextDelta)
        ]
        assert told == ["say Paris", "Paris", "say Rome", "Rome", "say Vienna", "Vienna"]
        assert methods(mine).count("session/new") == 1
        shown = mine.run("sessions", "show", session_id)
        assert shown.text.count("> say") == 3
        assert "replayed by the agent" in shown.err
        assert mine.run("sessions", "verify").code == 0

    def test_a_chat_takes_one_over_too_and_leaving_it_deletes_nothing(self, mine: Portico) -> None:
        name = by_itself(mine, "say Paris")
        ran = mine.run("chat", "--agent", "mine", "--agent-session", name, stdin=b"/exit\n")
        assert ran.code == 0
        listed = mine.run("agents", "sessions", "mine", "--api").api["sessions"]
        assert [session["sessionId"] for session in listed] == [name]

    def test_one_that_is_not_there_is_refused_and_leaves_nothing(self, mine: Portico) -> None:
        ran = mine.run("exec", "--agent", "mine", "--agent-session", "nobody", "say hello")
        assert (ran.code, ran.out) == (5, b"")
        assert "cannot continue its session nobody" in ran.complaint[0]
        assert "portico agents sessions mine" in ran.complaint[1]
        assert mine.run("sessions", "list", "--api").api["count"] == 0

    def test_it_goes_with_no_other_way_to_choose_a_session(self, mine: Portico) -> None:
        assert mine.run("exec", "--agent-session", "a", "--continue", "say hello").code == 5


class TestForking:
    async def test_a_fork_goes_its_own_way_with_an_agent_that_forks(self, mine: Portico) -> None:
        first = mine.exec("say Paris", "--agent", "mine").stream.session_id
        forked = mine.run("sessions", "fork", first, "--api").api["session"]["sessionId"]
        assert mine.run("exec", "--session", forked, "say Rome").code == 0
        assert mine.run("exec", "--session", first, "say Vienna").code == 0
        assert "session/fork" in methods(mine)
        answers = {
            session_id: [
                event.payload.text
                for event in await mine.log(session_id)
                if isinstance(event.payload, TextDelta)
            ]
            for session_id in (first, forked)
        }
        assert answers == {first: ["Paris", "Vienna"], forked: ["Paris", "Rome"]}
        assert mine.run("sessions", "verify").code == 0

    def test_it_says_how_to_go_on(self, mine: Portico) -> None:
        first = mine.exec("say Paris", "--agent", "mine").stream.session_id
        ran = mine.run("sessions", "fork", first[:-4])
        assert ran.code == 0
        assert "portico chat --session " in ran.text

    def test_an_agent_that_cannot_fork_is_told_what_was_said(self, portico: Portico) -> None:
        call_it_mine(portico, {"capabilities": {"loadSession": True}})
        first = portico.exec("say Paris", "--agent", "mine").stream.session_id
        forked = portico.run("sessions", "fork", first, "--api").api["session"]["sessionId"]
        ran = portico.run("exec", "--json-stream", "--session", forked, "what did I say?")
        assert "earlier-conversation" in ran.stream.answer
        assert "say Paris" in ran.stream.answer
        assert any("could not fork" in notice for notice in ran.stream.notices)

    def test_there_must_be_something_to_fork(self, portico: Portico) -> None:
        assert portico.run("sessions", "fork").code == 5
        assert portico.run("sessions", "fork", "nobody").code == 5


def test_a_session_is_closed_at_the_agent_when_the_command_is_over(mine: Portico) -> None:
    mine.exec("say hello", "--agent", "mine")
    assert methods(mine)[-1] == "session/close"


def test_an_empty_chat_leaves_nothing_at_the_agent_either(mine: Portico) -> None:
    assert mine.run("chat", "--agent", "mine", stdin=b"/exit\n").code == 0
    assert mine.run("agents", "sessions", "mine", "--api").api["count"] == 0
