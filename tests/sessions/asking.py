"""Questions as an agent sends them, and what it gets for an answer."""

from portico.rpc.messages import RpcError
from tests.sessions.support import FakeAgent

PORT = {"type": "integer", "title": "Port", "minimum": 1, "maximum": 65535}


def form(
    fields: dict[str, object], *, required: tuple[str, ...] = (), session: str | None = "a1"
) -> dict[str, object]:
    return {
        "sessionId": session,
        "mode": "form",
        "message": "Where shall it listen?",
        "requestedSchema": {"type": "object", "properties": fields, "required": list(required)},
    }


def page(url: str = "https://example.org/consent") -> object:
    return {"sessionId": "a1", "mode": "url", "message": "Please agree", "url": url, "elicitationId": "e1"}


async def elicit(agent: FakeAgent, params: object) -> str:
    assert agent.end is not None
    try:
        answer = await agent.end._connection.request("elicitation/create", params)
    except RpcError as error:
        return f"error {error.code} {error.message}"
    return bytes(answer).decode()
