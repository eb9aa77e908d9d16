"""The transport that an MCP client needs, its errors, and the answers to the server's own requests."""

from typing import Any, Protocol

from msgspec import Raw


class McpServerFailed(Exception):
    """A server cannot be reached, disconnected or is silent. The message is for the model and the person."""


class McpServerTimedOut(McpServerFailed):
    """A server did not answer in time."""


class McpTransport(Protocol):
    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        """The result. RpcError for an error response, McpServerFailed if there is none."""
        ...

    async def notify(self, method: str, params: dict[str, Any]) -> None: ...

    async def agreed(self, version: str) -> None:
        """Called when both sides have agreed on a revision of the protocol."""
        ...

    async def listen(self) -> None:
        """Receive the server's own requests from now on."""
        ...

    async def close(self) -> None: ...


class ClientPeer(Protocol):
    """Answers the requests that a server sends to its client."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the client announces."""
        ...

    async def answer(self, method: str, params: Raw) -> Any:
        """The result of a request. RpcError if the method is not offered or the parameters are wrong."""
        ...
