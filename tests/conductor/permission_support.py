"""A permission broker in a chain, with an agent and a client that a test speaks for."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from portico.conductor.permissions.approvals import Approvals, FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from tests.conductor.support import Ends, chain

Json = dict[str, Any]

WORKSPACE = "/work/project"
SESSION = "s1"
AGENT = "fake"
KNOWS_PORTICO = {"protocolVersion": 1, "clientCapabilities": {"_meta": {"portico": {"permissions": 1}}}}
ONCE = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
ALWAYS = {"optionId": "forever", "name": "Always", "kind": "allow_always"}
NO = {"optionId": "no", "name": "No", "kind": "reject_once"}
NEVER = {"optionId": "never", "name": "Never", "kind": "reject_always"}
OPTIONS = (ONCE, ALWAYS, NO, NEVER)
PYTEST = {"toolCallId": "c1", "title": "Run tests", "kind": "execute", "rawInput": {"command": "pytest -x"}}
TIME_MS = 1_767_225_600_000


def policy(*, allow: Sequence[str] = (), deny: Sequence[str] = (), bypass: bool = False) -> PermissionPolicy:
    return PermissionPolicy(
        allow=tuple(map(parse_rule, allow)), deny=tuple(map(parse_rule, deny)), bypass=bypass
    )


def approvals_in(folder: Path) -> FileApprovals:
    return FileApprovals(folder / "approvals.json", lambda: TIME_MS)


def selected(option_id: str, **more: Any) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option_id}, **more}


CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}


def execute(command: str, call_id: str = "c1") -> Json:
    return {"toolCallId": call_id, "title": command, "kind": "execute", "rawInput": {"command": command}}


def edit(*paths: str) -> Json:
    locations = [{"path": f"{WORKSPACE}/{path}"} for path in paths]
    return {"toolCallId": "e1", "title": "Edit", "kind": "edit", "locations": locations}


class Scene:
    """Both ends of the chain, and the messages that every test needs."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        self._ids = itertools.count(100)

    async def initialize(self, *, knows_portico: bool) -> None:
        params = KNOWS_PORTICO if knows_portico else {"protocolVersion": 1}
        await self.call("initialize", params, {"protocolVersion": 1})

    async def call(self, method: str, params: Json, result: Json) -> None:
        """A request of the client that the agent answers."""
        self.to_agent(id=next(self._ids), method=method, params=params)
        asked = await self.ends.agent.receive()
        assert asked["method"] == method
        self.to_client(id=asked["id"], result=result)
        assert "result" in await self.ends.client.receive()

    async def open(self, session_id: str = SESSION, cwd: str = WORKSPACE) -> None:
        await self.call("session/new", {"cwd": cwd, "mcpServers": []}, {"sessionId": session_id})

    def to_agent(self, **message: Any) -> None:
        self.ends.client.send(json.dumps({"jsonrpc": "2.0", **message}))

    def to_client(self, **message: Any) -> None:
        self.ends.agent.send(json.dumps({"jsonrpc": "2.0", **message}))

    def ask(
        self,
        tool_call: Json = PYTEST,
        options: Sequence[Json] = OPTIONS,
        *,
        session_id: str = SESSION,
        request_id: int | None = None,
        **more: Any,
    ) -> int:
        """The agent asks for permission; the id of its request."""
        chosen = next(self._ids) if request_id is None else request_id
        params = {"sessionId": session_id, "toolCall": tool_call, "options": list(options), **more}
        self.to_client(id=chosen, method="session/request_permission", params=params)
        return chosen

    async def shown(self) -> Json:
        """The question as the client gets it."""
        question = await self.ends.client.receive()
        assert question["method"] == "session/request_permission", question
        return question

    async def told(self) -> Json:
        """The decision that the client hears of."""
        decided = await self.ends.client.receive()
        assert decided["method"] == "_portico/permission_decided", decided
        params: Json = decided["params"]
        return params

    async def answer(self) -> Json:
        """Response to the agent."""
        return await self.ends.agent.receive()

    async def chosen(self) -> str:
        """The option that the agent gets."""
        outcome = (await self.answer())["result"]["outcome"]
        assert outcome["outcome"] == "selected"
        option_id: str = outcome["optionId"]
        return option_id

    async def nothing_more(self) -> None:
        """Nothing else was sent: a message sent now is the next one at either end."""
        self.to_agent(method="_mark")
        assert (await self.ends.agent.receive())["method"] == "_mark"
        self.to_client(method="_mark")
        assert (await self.ends.client.receive())["method"] == "_mark"


@asynccontextmanager
async def broker(
    approvals: Approvals,
    rules: PermissionPolicy | None = None,
    *,
    knows_portico: bool = False,
    agent: str = AGENT,
    trusts_read_only: bool = False,
) -> AsyncIterator[Scene]:
    """A chain with a broker and one open session."""
    proxy = PermissionBroker(
        agent=agent,
        policy=rules or PermissionPolicy(),
        approvals=approvals,
        trusts_read_only=trusts_read_only,
    )
    async with chain(proxy) as ends:
        scene = Scene(ends)
        async with asyncio.timeout(20):
            await scene.initialize(knows_portico=knows_portico)
            await scene.open()
        yield scene
