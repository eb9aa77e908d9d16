"""Align first: edits and commands are refused until the person has agreed to what the agent understood."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.components.alignment.component import AlignmentProxy
from portico.components.memory.component import MemoryProxy
from portico.components.memory.user_notes import UserNotes
from tests.conductor.mcp_support import call, frame, introduce
from tests.conductor.support import Ends, chain

Json = dict[str, Any]
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
WRITE: Json = {"sessionId": "s", "path": "/work/a.py", "content": "x"}
RUN: Json = {"sessionId": "s", "command": "make"}


class Talk:
    """An agent and its client, with the component between them."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        self.servers: dict[str, str] = {}

    async def open(self, **placed: Any) -> None:
        params = {"cwd": "/work", "mcpServers": [], "_meta": {"portico": placed}}
        self.ends.client.send(frame(id="open", method="session/new", params=params))
        asked = await self.ends.agent.receive()
        self.servers = {one["name"]: one["serverId"] for one in asked["params"]["mcpServers"]}
        self.ends.agent.send(frame(id=asked["id"], result={"sessionId": "s"}))
        await self.ends.client.receive()

    async def prompt(self, text: str = "Do it") -> list[str]:
        """A prompt whose turn stays open; what the agent is told."""
        params = {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}
        self.ends.client.send(frame(id=text, method="session/prompt", params=params))
        asked = await self.ends.agent.receive()
        return [block["text"] for block in asked["params"]["prompt"]]

    async def refused(self, method: str, params: Json) -> str:
        """The client sees why, and the agent is told the same."""
        self.ends.agent.send(frame(id="w", method=method, params=params))
        card = (await self.ends.client.receive())["params"]["update"]
        assert card["status"] == "failed"
        answer = await self.ends.agent.receive()
        assert "call align" in answer["error"]["message"]
        return str(card["title"])

    async def passes(self, method: str, params: Json) -> None:
        self.ends.agent.send(frame(id="w", method=method, params=params))
        asked = await self.ends.client.receive()
        assert asked["method"] == method
        self.ends.client.send(frame(id=asked["id"], result={}))
        await self.ends.agent.receive()

    async def may(self, kind: str, **more: Any) -> str:
        tool_call = {"toolCallId": "c", "title": "Change it", "kind": kind, **more}
        params = {"sessionId": "s", "toolCall": tool_call, "options": OPTIONS}
        self.ends.agent.send(frame(id="m", method="session/request_permission", params=params))
        seen = await self.ends.client.receive()
        if seen["method"] == "session/request_permission":
            outcome = {"outcome": "selected", "optionId": "once"}
            self.ends.client.send(frame(id=seen["id"], result={"outcome": outcome}))
        return str((await self.ends.agent.receive())["result"]["outcome"]["optionId"])

    async def align(self, answer: Json) -> tuple[Json, str]:
        """Question to the person, and the agent's result after this answer of the client."""
        server = self.servers["portico-alignment"]
        asked = call(server, "t", "align", understanding="You want tea.", plan="Boil water.")
        self.ends.agent.send(frame(id="t", method="mcp/message", params=asked))
        question = await self.ends.client.receive()
        self.ends.client.send(frame(id=question["id"], **answer))
        told = (await self.ends.agent.receive())["result"]["result"]
        return question, ("FAILED: " if told.get("isError") else "") + told["content"][0]["text"]


def accepts(answer: str, comment: str = "") -> Json:
    return {"result": {"action": "accept", "content": {"answer": answer, "comment": comment}}}


@asynccontextmanager
async def talk(*, forms: bool = True) -> AsyncIterator[Talk]:
    memory = MemoryProxy(UserNotes(Path("/nowhere")))
    async with chain(AlignmentProxy(takes_questions=forms), memory) as ends:
        await introduce(ends, acp=True)
        yield Talk(ends)


async def test_nothing_is_changed_before_the_yes_and_everything_may_be_asked_for_after_it() -> None:
    async with talk() as here:
        await here.open()
        context, words = await here.prompt()
        assert "call the tool align" in context
        assert words == "Do it"
        assert await here.refused("fs/write_text_file", WRITE) == "Not before your yes: Write /work/a.py"
        assert await here.refused("terminal/create", RUN) == "Not before your yes: make"
        question, told = await here.align(accepts("yes", "Green tea."))
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "The agent understood:\n\nYou want tea.\n\nBoil water."
        assert told == "The person agrees. They say: Green tea. Go ahead."
        await here.passes("fs/write_text_file", WRITE)
        await here.passes("terminal/create", RUN)
        assert await here.may("edit") == "once"


@pytest.mark.parametrize("kind", ["edit", "delete", "move", "execute", "other"])
async def test_permission_requests_are_denied_before_the_yes(kind: str) -> None:
    async with talk() as here:
        await here.open()
        await here.prompt()
        assert await here.may(kind) == "no"


@pytest.mark.parametrize("kind", ["read", "search", "think", "fetch"])
async def test_reading_may_be_asked_for_before_the_yes(kind: str) -> None:
    async with talk() as here:
        await here.open()
        await here.prompt()
        assert await here.may(kind) == "once"


async def test_tools_that_only_read_may_be_asked_for_before_the_yes() -> None:
    async with talk() as here:
        await here.open()
        await here.prompt()
        assert await here.may("other", _meta={"portico": {"readOnly": True}}) == "once"


@pytest.mark.parametrize(
    "answer",
    [
        accepts("no", "Coffee."),
        accepts("perhaps"),
        {"result": {"action": "decline"}},
        {"result": {"action": "cancel"}},
        {"result": {"action": "accept"}},
        {"error": {"code": -32603, "message": "no person"}},
    ],
)
async def test_any_other_answer_is_no_yes(answer: Json) -> None:
    async with talk() as here:
        await here.open()
        await here.prompt()
        _, told = await here.align(answer)
        assert told.startswith("FAILED: The person")
        assert ("Coffee." in told) == ("Coffee." in str(answer))
        await here.refused("fs/write_text_file", WRITE)


async def test_a_yes_holds_for_one_prompt_unless_it_is_given_for_the_session() -> None:
    async with talk() as here:
        await here.open()
        await here.prompt("one")
        await here.align(accepts("yes"))
        assert len(await here.prompt("two")) == 2
        await here.refused("fs/write_text_file", WRITE)
        await here.align(accepts("session"))
        assert await here.prompt("three") == ["three"]
        await here.passes("fs/write_text_file", WRITE)


async def test_a_command_of_the_person_is_not_changed_but_held_to_the_same() -> None:
    async with talk() as here:
        await here.open()
        assert await here.prompt("/test now") == ["/test now"]
        await here.refused("terminal/create", RUN)


async def test_other_components_and_sessions_of_the_agents_own_are_held_back_too() -> None:
    async with talk() as here:
        await here.open()
        await here.prompt()
        await here.refused("fs/write_text_file", {**WRITE, "sessionId": "child"})
        remember = call(here.servers["portico-memory"], "t", "remember", topic="Tea", text="Green.")
        here.ends.agent.send(frame(id="t", method="mcp/message", params=remember))
        assert (await here.ends.client.receive())["params"]["update"]["status"] == "failed"
        told = (await here.ends.agent.receive())["result"]["result"]
        assert told["isError"]
        assert "call align" in told["content"][0]["text"]


async def test_a_session_that_only_reads_is_left_alone() -> None:
    async with talk() as here:
        await here.open(reads_only=True)
        assert "portico-alignment" not in here.servers
        assert await here.prompt() == ["Do it"]


async def test_a_client_without_forms_is_asked_for_a_permission() -> None:
    async with talk(forms=False) as here:
        await here.open()
        await here.prompt()
        outcome = {"outcome": {"outcome": "selected", "optionId": "no"}}
        question, told = await here.align({"result": outcome})
        assert question["params"]["toolCall"]["title"] == "Agree: You want tea. Boil water."
        assert told.startswith("FAILED: The person did not agree.")
        _, told = await here.align({"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
        assert told == "The person agrees. Go ahead."
        await here.passes("fs/write_text_file", WRITE)
