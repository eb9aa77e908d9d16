"""A question about a package is answered by a second session of the agent, which can only read that package."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.components.packages.proxy import PackageTools
from portico.components.packages.research.history import Findings, FindingsStore
from portico.components.packages.research.service import ResearchService
from portico.components.packages.shared_tasks import SharedTasks
from tests.conductor.mcp_support import call, frame, introduce, message, open_session
from tests.conductor.support import Ends, chain
from tests.review.trees import write
from tests.support.program import Portico

Json = dict[str, Any]
QUESTION = {"ecosystem": "npm", "name": "thing", "question": "What does one() do?"}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    write(
        folder,
        {
            "secret.txt": "mine",
            "node_modules/thing/package.json": '{"version": "1.0.0"}',
            "node_modules/thing/lib/code.js": "function one() {}\n",
        },
    )
    return folder


class Agent:
    """An agent at the end of a chain: it answers as the test says."""

    def __init__(self, ends: Ends, server_id: str) -> None:
        self.ends = ends
        self.server_id = server_id
        self.session_id = "research-1"
        self.private = ""

    def ask_question(self, request_id: str = "q", **more: Any) -> None:
        asked = call(self.server_id, request_id, "package_query", **{**QUESTION, **more})
        self.ends.agent.send(frame(id=request_id, method="mcp/message", params=asked))

    async def begin(self, request_id: str = "q", session_id: str = "research-1") -> Json:
        """Ask, open the research session, and take its prompt."""
        self.ask_question(request_id)
        return await self.open_research(session_id)

    async def open_research(self, session_id: str = "research-1") -> Json:
        await self.card()
        new = await self.received("session/new")
        self.session_id = session_id
        self.private = new["params"]["mcpServers"][0]["serverId"]
        self.ends.agent.send(frame(id=new["id"], result={"sessionId": session_id}))
        return await self.received("session/prompt")

    async def received(self, method: str) -> Json:
        asked = await self.ends.agent.receive()
        assert asked.get("method") == method, asked
        return asked

    async def card(self) -> Json:
        """The next update of the research card that the client gets."""
        update = await self.ends.client.receive()
        assert update["params"]["sessionId"] == "s"
        shown: Json = update["params"]["update"]
        return shown

    async def use(self, tool: str, **arguments: Any) -> Json:
        self.ends.agent.send(
            frame(id="tool", method="mcp/message", params=call(self.private, "t", tool, **arguments))
        )
        answer = await self.ends.agent.receive()
        assert answer["id"] == "tool", answer
        result: Json = answer["result"]["result"]
        return result

    async def request(self, method: str, **params: Any) -> Json:
        """Response to a request of the agent in its research session."""
        self.ends.agent.send(frame(id="r", method=method, params={"sessionId": self.session_id, **params}))
        answer = await self.ends.agent.receive()
        assert answer["id"] == "r", answer
        return answer

    async def may(self, **tool_call: Any) -> str:
        asked = {"toolCall": {"toolCallId": "c", **tool_call}, "options": OPTIONS}
        answer = await self.request("session/request_permission", **asked)
        return str(answer["result"]["outcome"]["optionId"])

    def end_turn(self, prompt: Json) -> None:
        self.ends.agent.send(frame(id=prompt["id"], result={"stopReason": "end_turn"}))

    async def answer(self, request_id: str = "q") -> tuple[str, bool]:
        """Answer of package_query, and whether it failed."""
        told = await self.ends.agent.receive()
        assert told["id"] == request_id, told
        result = told["result"]["result"]
        return result["content"][0]["text"], result.get("isError", False)


@asynccontextmanager
async def researching(work: Path, *, seconds: float = 60, most: int = 3) -> AsyncIterator[Agent]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(work), "PORTICO_HOME": str(work.parent / "portico")}
    service = ResearchService(environ, seconds=seconds, most=most)
    async with chain(PackageTools(environ, lambda: service)) as ends:
        await introduce(ends, acp=True)
        (server,) = await open_session(ends, cwd=str(work))
        yield Agent(ends, server["serverId"])


async def test_a_question_is_answered_and_the_findings_are_kept_and_reused(work: Path) -> None:
    async with researching(work) as agent:
        prompt = await agent.begin()
        assert "What does one() do?" in prompt["params"]["prompt"][0]["text"]
        listed = message(agent.private, "l", "tools/list")
        agent.ends.agent.send(frame(id="l", method="mcp/message", params=listed))
        tools = (await agent.ends.agent.receive())["result"]["result"]["tools"]
        assert [one["name"] for one in tools] == [
            "package_source", "package_search", "package_read", "return_findings",
        ]  # fmt: skip
        found = await agent.use("package_search", query="one()")
        assert "lib/code.js:1" in found["content"][0]["text"]
        assert "function one" in (await agent.use("package_read", path="lib/code.js"))["content"][0]["text"]
        assert (await agent.use("package_read", path="../../secret.txt"))["isError"]
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Looking.\n"}}
        agent.ends.agent.send(
            frame(method="session/update", params={"sessionId": "research-1", "update": chunk})
        )
        assert (await agent.card())["content"][0]["content"]["text"] == "Looking."
        await agent.use("return_findings", findings="It does nothing (lib/code.js:1).")
        twice = await agent.use("return_findings", findings="Something else.")
        assert "returned already" in twice["content"][0]["text"]
        agent.end_turn(prompt)
        ended = await agent.card()
        assert (ended["status"], ended["content"][0]["content"]["text"]) == (
            "completed",
            "It does nothing (lib/code.js:1).",
        )
        text, failed = await agent.answer()
        assert not failed
        assert text.startswith("thing 1.0.0 (npm), researched in ")
        assert text.endswith("It does nothing (lib/code.js:1).")
        agent.ask_question("again", question="what  does ONE() do?")
        assert (await agent.answer("again"))[0].startswith("thing 1.0.0 (npm), from earlier research:")
    (kept,) = FindingsStore({"PORTICO_HOME": str(work.parent / "portico")}).all()
    assert (kept.version, kept.question, kept.returned) == ("1.0.0", "What does one() do?", True)


async def test_nothing_but_reading_inside_the_package_is_granted(work: Path) -> None:
    root = work / "node_modules/thing"
    inside = {"locations": [{"path": str(root / "lib/code.js")}]}
    granted: list[Json] = [
        {"kind": "read", **inside},
        {"kind": "read", "rawInput": {"path": "lib/code.js"}},
        {"kind": "search", "rawInput": {"path": str(root)}},
        {"kind": "other", "name": "portico-research__package_read", "rawInput": {"path": "lib/code.js"}},
        {"kind": "other", "title": "mcp__portico-research__return_findings"},
    ]
    denied: list[Json] = [
        {"kind": kind, **inside}
        for kind in ("edit", "delete", "move", "execute", "think", "fetch", "switch_mode", "other")
    ]
    denied += [
        {"kind": "read"},
        {"kind": "read", "locations": [{"path": str(work / "secret.txt")}]},
        {"kind": "read", "locations": [{"path": "/etc/passwd"}]},
        {"kind": "read", "rawInput": {"path": "../../secret.txt"}},
        {"kind": "read", "rawInput": {"path": "~/.ssh/id_rsa"}},
        {"kind": "read", "rawInput": {"path": "node_modules/other/index.js"}},
        {"kind": "read", "rawInput": {"path": ".env"}},
        {"kind": "read", **inside, "rawInput": {"command": "cat lib/code.js"}},
        {"kind": "read", **inside, "rawInput": {"url": "https://example.org"}},
        {"kind": "read", **inside, "content": [{"type": "diff", "path": str(root / "x"), "newText": "x"}]},
        {"kind": "search", "locations": [{"path": str(work)}]},
        {"kind": "other", "name": "other-server__package_read"},
        {"kind": "other", "name": "portico-research__package_read", "rawInput": {"path": "../../secret.txt"}},
        {"kind": "other", "name": "portico-research__write_file"},
    ]
    async with researching(work) as agent:
        prompt = await agent.begin()
        assert [await agent.may(**one) for one in granted] == ["once"] * len(granted)
        assert [await agent.may(**one) for one in denied] == ["no"] * len(denied)
        only_allow = {"toolCall": {"toolCallId": "c", "kind": "edit"}, "options": OPTIONS[:2]}
        assert "error" in await agent.request("session/request_permission", **only_allow)
        only_always = {"toolCall": {"toolCallId": "c", "kind": "read", **inside}, "options": OPTIONS[:1]}
        assert "error" in await agent.request("session/request_permission", **only_always)
        read = await agent.request("fs/read_text_file", path=str(root / "lib/code.js"))
        assert read["result"]["content"] == "function one() {}\n"
        for method, params in (
            ("fs/read_text_file", {"path": str(work / "secret.txt")}),
            ("fs/read_text_file", {"path": str(root / "../../secret.txt")}),
            ("fs/write_text_file", {"path": str(root / "new.js"), "content": "x"}),
            ("terminal/create", {"command": "ls"}),
            ("elicitation/create", {"message": "Password?"}),
        ):
            assert "error" in await agent.request(method, **params)
        assert not (root / "new.js").exists()
        agent.end_turn(prompt)
        assert (await agent.card())["status"] == "failed"
        assert await agent.answer() == (
            "The research ended without findings. Use package_search and package_read yourself.",
            True,
        )


async def test_the_agent_that_asked_gets_progress(work: Path) -> None:
    async with researching(work) as agent:
        asked = call(agent.server_id, "q", "package_query", **QUESTION)
        asked["params"]["_meta"] = {"progressToken": "p1"}
        agent.ends.agent.send(frame(id="q", method="mcp/message", params=asked))
        await agent.open_research()
        tool_call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Search for one()"}
        agent.ends.agent.send(
            frame(method="session/update", params={"sessionId": "research-1", "update": tool_call})
        )
        told = await agent.received("mcp/message")
        assert told["params"]["method"] == "notifications/progress"
        assert told["params"]["params"] == {
            "progressToken": "p1",
            "progress": 1,
            "message": "Search for one()",
        }


async def test_an_agent_that_only_talks_is_heard(work: Path) -> None:
    async with researching(work) as agent:
        prompt = await agent.begin()
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "It is empty."}}
        agent.ends.agent.send(
            frame(method="session/update", params={"sessionId": "research-1", "update": chunk})
        )
        agent.end_turn(prompt)
        await agent.card()
        text, failed = await agent.answer()
        assert not failed
        assert "without returning findings" in text
        assert text.endswith("It is empty.")


async def test_an_agent_that_holds_one_session_keeps_the_tools_alone(work: Path) -> None:
    async with researching(work) as agent:
        agent.ask_question()
        await agent.card()
        new = await agent.received("session/new")
        agent.ends.agent.send(frame(id=new["id"], error={"code": -32000, "message": "one session only"}))
        assert (await agent.card())["status"] == "failed"
        text, failed = await agent.answer()
        assert failed
        assert "one session only" in text
        assert "package_search and package_read yourself" in text
        (server,) = await open_session(agent.ends, "s2", cwd=str(work))
        listed = message(server["serverId"], "l", "tools/list")
        agent.ends.agent.send(frame(id="l", method="mcp/message", params=listed))
        tools = (await agent.ends.agent.receive())["result"]["result"]["tools"]
        assert "package_query" not in [one["name"] for one in tools]


async def test_research_that_never_ends_is_stopped(work: Path) -> None:
    async with researching(work, seconds=0.3) as agent:
        await agent.begin()
        assert (await agent.received("session/cancel"))["params"] == {"sessionId": "research-1"}
        assert (await agent.card())["status"] == "failed"
        text, failed = await agent.answer()
        assert failed
        assert "did not end within 0.3 s" in text
        # Later messages of the agent for it are dropped.
        answer = await agent.request(
            "session/request_permission", toolCall={"toolCallId": "c"}, options=OPTIONS
        )
        assert "error" in answer


async def test_a_caller_that_gives_up_stops_the_research(work: Path) -> None:
    async with researching(work) as agent:
        await agent.begin()
        agent.ends.agent.send(frame(method="$/cancel_request", params={"requestId": "q"}))
        received = [await agent.ends.agent.receive(), await agent.ends.agent.receive()]
        assert {one.get("method", "answer") for one in received} == {"session/cancel", "answer"}
        assert (await agent.card())["status"] == "failed"


async def test_stopping_the_turn_stops_the_research(work: Path) -> None:
    async with researching(work) as agent:
        await agent.begin()
        agent.ends.client.send(frame(method="session/cancel", params={"sessionId": "s"}))
        assert (await agent.received("session/cancel"))["params"] == {"sessionId": "s"}
        received = [await agent.ends.agent.receive(), await agent.ends.agent.receive()]
        assert {one.get("params", {}).get("sessionId", one.get("id")) for one in received} == {
            "research-1",
            "q",
        }
        assert (await agent.card())["content"][0]["content"]["text"] == "The research was stopped."


async def test_one_research_is_stopped_alone_while_the_other_goes_on(work: Path) -> None:
    async with researching(work) as agent:
        agent.ask_question("first")
        card = await agent.card()
        assert card["_meta"] == {"portico": {"stoppable": True}}
        opened = await agent.received("session/new")
        agent.ends.agent.send(frame(id=opened["id"], result={"sessionId": "research-1"}))
        await agent.received("session/prompt")
        agent.ask_question("second", question="And what else?")
        prompt = await agent.open_research("research-2")
        stop = {"sessionId": "s", "toolCallId": card["toolCallId"]}
        agent.ends.client.send(frame(method="_portico/stop_tool", params=stop))
        assert (await agent.received("session/cancel"))["params"] == {"sessionId": "research-1"}
        ended = await agent.card()
        assert (ended["toolCallId"], ended["status"]) == (card["toolCallId"], "failed")
        text, failed = await agent.answer("first")
        assert failed
        assert (
            text
            == "The person stopped this research. Continue without it, and do not ask the question again."
        )
        await agent.use("return_findings", findings="Nothing else.")
        agent.end_turn(prompt)
        assert (await agent.card())["status"] == "completed"
        text, failed = await agent.answer("second")
        assert not failed
        assert text.endswith("Nothing else.")


async def test_a_research_is_stopped_before_the_agent_has_opened_its_session(work: Path) -> None:
    async with researching(work) as agent:
        agent.ask_question()
        card = await agent.card()
        opened = await agent.received("session/new")
        stop = {"sessionId": "s", "toolCallId": card["toolCallId"]}
        agent.ends.client.send(frame(method="_portico/stop_tool", params=stop))
        assert (await agent.card())["status"] == "failed"
        assert (await agent.answer())[1]
        agent.ends.agent.send(frame(id=opened["id"], result={"sessionId": "research-1"}))
        refused = await agent.request("fs/read_text_file", path="secret.txt")
        assert "the session research-1 is over" in refused["error"]["message"]
        # The next stop of the same card is for no research, so the agent gets it.
        agent.ends.client.send(frame(method="_portico/stop_tool", params=stop))
        await agent.received("_portico/stop_tool")


async def test_a_question_asked_while_its_first_research_ends_gets_one_of_its_own() -> None:
    tasks: SharedTasks[str] = SharedTasks()
    ending, may_end = asyncio.Event(), asyncio.Event()

    async def first() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()
        return "first"

    async def second() -> str:
        return "second"

    asked = asyncio.create_task(tasks.run("key", first, "first"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asked.cancel()
    await ending.wait()
    assert await tasks.run("key", second, "second") == "second"
    may_end.set()


async def test_an_agent_that_fails_in_its_research_is_named(work: Path) -> None:
    async with researching(work) as agent:
        prompt = await agent.begin()
        agent.ends.agent.send(frame(id=prompt["id"], error={"code": -32603, "message": "out of credit"}))
        assert (await agent.card())["status"] == "failed"
        text, failed = await agent.answer()
        assert failed
        assert "out of credit" in text


async def test_two_who_ask_the_same_share_one_research(work: Path) -> None:
    async with researching(work) as agent:
        prompt = await agent.begin("first")
        agent.ask_question("second")
        await agent.use("return_findings", findings="Nothing.")
        agent.end_turn(prompt)
        answers = [await agent.ends.agent.receive(), await agent.ends.agent.receive()]
        assert {one["id"] for one in answers} == {"first", "second"}
        assert all("Nothing." in str(one["result"]) for one in answers)


async def test_so_many_researches_run_at_once_and_no_more(work: Path) -> None:
    async with researching(work, most=1) as agent:
        prompt = await agent.begin("first")
        agent.ask_question("second", question="And what else?")
        await agent.use("return_findings", findings="Nothing.")
        agent.end_turn(prompt)
        assert (await agent.ends.client.receive())["params"]["update"]["status"] == "completed"
        received = [await agent.ends.agent.receive(), await agent.ends.agent.receive()]
        assert {one.get("method", one["id"]) for one in received} == {"first", "session/new"}


async def test_the_history_is_listed_and_shown(work: Path, portico: Portico) -> None:
    assert portico.run("packages", "research").text == "No package has been researched yet.\n"
    findings = Findings(
        key="0123456789",
        ecosystem="npm",
        name="thing",
        version="1.0.0",
        question="Why?",
        answer="\x1b[31mSo.",
        at=0,
    )
    FindingsStore(portico.environ()).add(findings)
    assert "thing 1.0.0 (npm)  Why?" in portico.run("packages", "research").text
    shown = portico.run("packages", "research", "0123").text
    assert "So." in shown
    assert "\x1b" not in shown
    assert portico.run("packages", "research", "--api").api["research"][0]["question"] == "Why?"
    assert 'Unknown findings "99"' in portico.run("packages", "research", "99").err


async def test_updates_of_other_sessions_still_reach_the_client(work: Path) -> None:
    async with researching(work) as agent:
        await agent.begin()
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
        agent.ends.agent.send(frame(method="session/update", params={"sessionId": "s", "update": update}))
        received = await agent.ends.client.receive()
        assert received["params"]["update"] == update
