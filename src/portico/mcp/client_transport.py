"""The transport an MCP client needs, and the errors it raises."""

from typing import Any, Protocol

from msgspec import Raw


class McpServerFailed(Exception):
    """A server cannot be reached, broke off, or is silent: in words for the model and the person."""


class McpServerTimedOut(McpServerFailed):
    """It may still answer, but not in time for whoever waits."""


class McpTransport(Protocol):
    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        """The result. RpcError for an error answer, ServerFailed when there is none."""
        ...

    async def notify(self, method: str, params: dict[str, Any]) -> None: ...

    async def agreed(self, version: str) -> None:
        """Both sides have agreed on a revision of the protocol."""
        ...

    async def listen(self) -> None:
        """Hear from now on what the server asks of its own accord."""
        ...

    async def close(self) -> None: ...
