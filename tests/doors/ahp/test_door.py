"""Access to the agent host: callers and paths."""

import asyncio
import json

import pytest

from portico.doors.ahp.door import AgentHostDoor
from portico.doors.http.asgi import HttpRequest, HttpResponse, Receive, Scope
from portico.doors.http.websocket_upgrade import accept_websocket
from portico.rpc.websocket import make_key
from tests.doors.http.support import TOKEN, bearer, open_door


class EchoHost:
    """Accepts each client and closes its socket."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def open(self, request: HttpRequest, scope: Scope, receive: Receive, answer: HttpResponse) -> None:
        self.paths.append(request.path)
        accept_websocket(request, scope, []).close()


def handshake() -> dict[str, str]:
    return {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-key": make_key(),
        "sec-websocket-version": "13",
    }


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/ahp", bearer(TOKEN), 101),
        (f"/ahp?tkn={TOKEN}", {}, 101),
        (f"/?tkn={TOKEN}", {}, 101),
        ("/ahp", {}, 401),
        ("/ahp?tkn=wrong", {}, 401),
        (f"/ahp?tkn={TOKEN}&tkn=wrong", {}, 401),
        (f"/ahp?tkn={TOKEN}", bearer("wrong"), 401),
        ("/", {}, 401),
        (f"/?tkn={TOKEN}", {"origin": "http://evil.example"}, 403),
        (f"/acp?tkn={TOKEN}", {}, 401),
    ],
)
async def test_a_client_needs_the_token_and_no_foreign_origin(
    path: str, headers: dict[str, str], status: int
) -> None:
    host = EchoHost()
    async with open_door(agent_host=host) as door, door.caller() as caller:
        caller.send_head("GET", path, {**handshake(), **headers})
        found, _ = await caller.reply_head()
        assert found == status
        assert len(host.paths) == (status == 101)


async def test_a_page_load_is_no_agent_host_and_a_plain_call_is_told_to_upgrade() -> None:
    agent_host = AgentHostDoor(None, asyncio.Event())  # type: ignore[arg-type]
    async with open_door(agent_host=agent_host) as door:
        assert "text/html" in (await door.ask("GET", "/")).headers["content-type"]
        refused = await door.ask("GET", "/ahp", bearer(TOKEN))
        assert (refused.status, json.loads(refused.body)["message"]) == (
            426,
            "The agent host is reached by WebSocket.",
        )
