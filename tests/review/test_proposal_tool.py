"""An agent proposes changes with a tool: what it may say, what it hears back, and what the person gets."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.chains.review_proxies import proposal_tool_proxy
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy
from portico.domain import codecs
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId
from portico.review.acp.editor_sessions import EditorSessions
from portico.review.acp.proposal_requests import EditorReviews, ProposalRequests
from portico.review.service import ReviewService
from portico.testing import ManualClock
from tests.conductor.mcp_support import HANDSHAKE, ask, call, frame, started
from tests.conductor.support import Ends, chain

Json = dict[str, Any]
SESSION = "01k0000000000000test"
KNOWS_PORTICO = {"protocolVersion": 1, "clientCapabilities": {"_meta": {"portico": {"permissions": 1}}}}


class Place:
    """A workspace, what is kept of proposals for it, and both ends of a chain."""

    def __init__(self, ends: Ends, workspace: Path, reviews: ReviewService) -> None:
        self.ends = ends
        self.workspace = workspace
        self.reviews = reviews
        self._server_id = ""

    async def greet(self, *, acp: bool = True, knows_portico: bool = False) -> Json:
        """Capabilities of the client that the agent gets."""
        hello = KNOWS_PORTICO if knows_portico else {"protocolVersion": 1}
        self.ends.client.send(frame(id=0, method="initialize", params=hello))
        asked = await self.ends.agent.receive()
        capabilities = {"mcpCapabilities": {"acp": acp}}
        self.ends.agent.send(frame(id=asked["id"], result={"agentCapabilities": capabilities}))
        await self.ends.client.receive()
        told: Json = asked["params"].get("clientCapabilities", {})
        return told

    async def open(
        self, *, session: str = SESSION, cwd: Path | None = None, mode: str = "proposal"
    ) -> list[Json]:
        """The servers that the agent is given for a session."""
        placed = {"portico": {"session": session, "workspace": str(self.workspace), "mode": mode}}
        params = {"cwd": str(cwd or self.workspace), "mcpServers": [], "_meta": placed}
        self.ends.client.send(frame(id=1, method="session/new", params=params))
        asked = await self.ends.agent.receive()
        self.ends.agent.send(frame(id=asked["id"], result={"sessionId": "agents-own"}))
        await self.ends.client.receive()
        servers: list[Json] = asked["params"]["mcpServers"]
        self._server_id = servers[0].get("serverId", "") if servers else ""
        return servers

    async def propose(self, *changes: Json, request_id: str = "r1") -> Json:
        """Result of a proposal for the agent."""
        asked = call(self._server_id, request_id, "propose_changes", changes=list(changes))
        answer = await ask(self.ends.agent, request_id, "mcp/message", asked)
        result: Json = answer["result"]["result"]
        return result

    async def proposed(self) -> dict[str, str]:
        """Open proposals for the person: the diff of each file."""
        found: dict[str, str] = {}
        for one in await self.reviews.proposals(SESSION):
            for file in (await self.reviews.payload(SESSION, one.id)).files:
                found[file.path] = file.diff
        return found


@asynccontextmanager
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\ntwo\n")
    (workspace / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (workspace / ".env").write_text("PASSWORD=hunter2\n")
    (workspace / "picture.png").write_bytes(b"\x89PNG\r\n\0\0")
    reviews = ReviewService.at(tmp_path / "state", dict(os.environ), ManualClock())
    await reviews.open(SESSION, workspace, "direct")
    broker = PermissionBroker(
        agent="fake",
        policy=PermissionPolicy(),
        approvals=FileApprovals(tmp_path / "approvals.json", lambda: 0),
    )
    requests = ProposalRequests(
        EditorReviews(
            agent="fake",
            open_reviews=lambda: reviews,
            open_sessions=lambda: EditorSessions(tmp_path / "editor_sessions"),
            make_id=lambda: SessionId(SESSION),
        )
    )
    async with chain(proposal_tool_proxy(reviews), requests, broker, McpBridge()) as ends:
        yield Place(ends, workspace, reviews)


def words(result: Json) -> str:
    return str(result["content"][0]["text"])


async def test_what_an_agent_proposes_waits_for_the_person_and_touches_no_file(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.greet()
        (server,) = await here.open()
        assert server["name"] == "portico-review"
        result = await here.propose(
            {"path": "a.txt", "operation": "update", "new_content": "one\nTWO\n"},
            {"path": "src/new.txt", "operation": "create", "new_content": "new\n"},
            {"path": "crlf.txt", "operation": "delete"},
        )
        assert "isError" not in result
        assert "the person sees 3 files" in words(result)
        value = result["structuredContent"]
        assert [(one["path"], one["operation"], one["conflict"]) for one in value["changes"]] == [
            ("a.txt", "update", False),
            ("src/new.txt", "create", False),
            ("crlf.txt", "delete", False),
        ]
        assert "-two\n+TWO\n" in value["changes"][0]["unified_diff"]
        assert (value["has_conflicts"], value["warnings"]) == (False, [])
        waiting = await here.proposed()
        assert set(waiting) == {"a.txt", "src/new.txt", "crlf.txt"}
        assert (here.workspace / "a.txt").read_text() == "one\ntwo\n"
        assert not (here.workspace / "src").exists()


async def test_what_is_applied_is_what_was_proposed_in_the_files_own_line_ends(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.greet()
        await here.open()
        await here.propose(
            {"path": "crlf.txt", "operation": "update", "new_content": "one\nTWO\n"},
            {"path": "b.txt", "operation": "rename", "old_path": "a.txt"},
        )
        (proposal,) = await here.reviews.proposals(SESSION)
        await here.reviews.apply(SESSION, proposal.id, proposal.revision)
        assert (here.workspace / "crlf.txt").read_bytes() == b"one\r\nTWO\r\n"
        assert (here.workspace / "b.txt").read_text() == "one\ntwo\n"
        assert not (here.workspace / "a.txt").exists()


async def test_everything_that_is_wrong_is_said_at_once_and_nothing_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("mine")
    async with place(tmp_path) as here:
        (here.workspace / "folder").mkdir()
        (here.workspace / "link.txt").symlink_to(tmp_path / "outside.txt")
        await here.greet()
        await here.open()
        result = await here.propose(
            {"path": "a.txt", "operation": "create", "new_content": "x"},
            {"path": "missing.txt", "operation": "update", "new_content": "x"},
            {"path": "a.txt", "operation": "update"},
            {"path": "../outside.txt", "operation": "update", "new_content": "x"},
            {"path": str(tmp_path / "outside.txt"), "operation": "delete"},
            {"path": "link.txt", "operation": "update", "new_content": "x"},
            {"path": "folder", "operation": "delete"},
            {"path": ".env", "operation": "update", "new_content": "x"},
            {"path": ".git/config", "operation": "create", "new_content": "x"},
            {"path": "picture.png", "operation": "update", "new_content": "x"},
            {"path": "b.txt", "operation": "rename"},
            {"path": "", "operation": "delete"},
            {"path": "fine.txt", "operation": "create", "new_content": "fine"},
        )
        assert result["isError"]
        told = words(result)
        for line in (
            "- a.txt: it exists already",
            "- missing.txt: there is no such file",
            "- a.txt: new_content is missing",
            "- ../outside.txt: ",
            "- link.txt: ",
            "- folder: it is a folder",
            "- .env: it may hold secrets",
            "- .git/config: ",
            "- picture.png: it is not a text file",
            "- b.txt: old_path",
            "- (no path): ",
        ):
            assert line in told
        assert "hunter2" not in told
        assert "fine.txt" not in told
        assert await here.proposed() == {}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ([], "at least one"),
        ([{"path": "a.txt", "operation": "improve"}], "operation"),
        ([{"operation": "delete"}], "path"),
        ([{"path": "a.txt", "operation": "update", "new_content": "one\ntwo\n"}], "these contents already"),
        (
            [
                {"path": "a.txt", "operation": "update", "new_content": "1"},
                {"path": "./a.txt", "operation": "delete"},
            ],
            "more than one change",
        ),
    ],
)
async def test_a_proposal_that_makes_no_sense_says_why(
    tmp_path: Path, changes: list[Json], complaint: str
) -> None:
    async with place(tmp_path) as here:
        await here.greet()
        await here.open()
        result = await here.propose(*changes)
        assert result["isError"]
        assert complaint in words(result)
        assert await here.proposed() == {}


async def test_paths_in_the_agents_own_folder_mean_the_files_of_the_person(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    async with place(tmp_path) as here:
        await here.greet()
        await here.open(cwd=folder)
        await here.propose({"path": str(folder / "a.txt"), "operation": "update", "new_content": "1\n"})
        await here.propose(
            {"path": str(here.workspace / "b.txt"), "operation": "create", "new_content": "2\n"},
            request_id="r2",
        )
        assert set(await here.proposed()) == {"a.txt", "b.txt"}


async def test_a_client_that_knows_portico_hears_of_a_proposal_at_once(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.greet(knows_portico=True)
        await here.open()
        result = await here.propose({"path": "a.txt", "operation": "delete"})
        heard = await here.ends.client.receive()
        assert heard["method"] == "_portico/proposal_updated"
        assert heard["params"]["sessionId"] == "agents-own"
        told = codecs.convert(heard["params"], ProposalUpdated)
        assert told.proposal_id == result["structuredContent"]["proposal_id"]
        assert (told.origin, [file.path for file in told.files]) == ("tool", ["a.txt"])


async def test_an_agent_cannot_tell_of_a_proposal_that_nobody_keeps(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.greet(knows_portico=True)
        await here.open()
        forged = {"sessionId": "agents-own", "proposalId": "p", "revision": 1, "status": "applied"}
        here.ends.agent.send(frame(method="_portico/proposal_updated", params=forged))
        heard = await here.ends.client.receive()
        assert heard["method"] == "_portico/fault"


async def test_a_session_that_portico_has_no_name_for_is_offered_nothing(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.greet()
        assert await here.open(session="") == []


async def test_an_agent_that_takes_no_servers_over_acp_reaches_the_tool_through_a_program(
    tmp_path: Path,
) -> None:
    async with place(tmp_path) as here:
        await here.greet(acp=False)
        (entry,) = await here.open()
        async with started(entry) as program:
            await program.ask(1, "initialize", HANDSHAKE)
            (tool,) = (await program.ask(2, "tools/list"))["result"]["tools"]
            assert (tool["name"], tool["annotations"]) == ("propose_changes", {"readOnlyHint": True})
            assert tool["inputSchema"]["required"] == ["changes"]
            arguments = {"changes": [{"path": "a.txt", "operation": "delete"}]}
            await program.ask(3, "tools/call", {"name": "propose_changes", "arguments": arguments})
        assert set(await here.proposed()) == {"a.txt"}


CHANGES = [{"path": "a.txt", "operation": "update", "new_content": "one\nTWO\n"}]


def porter_asks(here: Place, changes: list[Json]) -> None:
    params = {"sessionId": "agents-own", "changes": changes}
    here.ends.agent.send(frame(id="p1", method="_portico/propose_changes", params=params))


async def test_porter_proposes_in_a_session_that_writes_directly(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        told = await here.greet(knows_portico=True)
        assert told["_meta"]["portico"]["proposals"] == 1
        await here.open(mode="direct")
        porter_asks(here, CHANGES)
        heard = await here.ends.client.receive()
        assert heard["method"] == "_portico/proposal_updated"
        answer = await here.ends.agent.receive()
        assert answer["result"] == {"proposalId": heard["params"]["proposalId"], "status": "open"}
        assert set(await here.proposed()) == {"a.txt"}
        assert (here.workspace / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("choice", "status", "text"),
    [
        ("apply", "applied", "one\nTWO\n"),
        ("discard", "discarded", "one\ntwo\n"),
        ("keep", "open", "one\ntwo\n"),
        (None, "open", "one\ntwo\n"),
    ],
)
async def test_an_editor_without_review_asks_the_person_about_what_porter_proposes(
    tmp_path: Path, choice: str | None, status: str, text: str
) -> None:
    async with place(tmp_path) as here:
        await here.greet()
        assert await here.open(session="", mode="direct") == []
        porter_asks(here, CHANGES)
        card = await here.ends.client.receive()
        assert card["params"]["update"]["sessionUpdate"] == "tool_call"
        question = await here.ends.client.receive()
        assert question["method"] == "session/request_permission"
        options = {one["name"].split()[0].lower(): one["optionId"] for one in question["params"]["options"]}
        outcome = {"outcome": "cancelled"}
        if choice is not None:
            outcome = {"outcome": "selected", "optionId": options[choice]}
        here.ends.client.send(frame(id=question["id"], result={"outcome": outcome}))
        answer = await here.ends.agent.receive()
        assert answer["result"]["status"] == status
        assert (here.workspace / "a.txt").read_text() == text
        (known,) = EditorSessions(tmp_path / "editor_sessions").all()
        assert (known.session_id, known.workspace) == (SESSION, str(here.workspace))


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"sessionId": "agents-own", "changes": [{"path": ".env", "operation": "delete"}]}, "secrets"),
        ({"sessionId": "agents-own", "changes": [{"path": "/etc/passwd", "operation": "delete"}]}, "outside"),
        ({"sessionId": "another", "changes": CHANGES}, "Unknown session"),
        ({"sessionId": "agents-own", "changes": [{"operation": "delete"}]}, "path"),
        ({"sessionId": "agents-own"}, "changes"),
    ],
)
async def test_what_porter_cannot_propose_is_refused_with_the_reason(
    tmp_path: Path, params: Json, complaint: str
) -> None:
    async with place(tmp_path) as here:
        await here.greet(knows_portico=True)
        await here.open(mode="direct")
        answer = await ask(here.ends.agent, "p1", "_portico/propose_changes", params)
        assert complaint in answer["error"]["message"]
        assert await here.proposed() == {}
