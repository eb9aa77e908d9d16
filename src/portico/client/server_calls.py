"""Calls to AgentService on the user's server, with its errors raised as Portico errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NoReturn

import msgspec
from connectrpc.errors import ConnectError
from pyqwest import Client as HttpClient

from portico.api.v1 import events_pb
from portico.api.v1.agent_client import AgentServiceClient
from portico.api.value_reader import from_error_details
from portico.client.loopback_transport import LoopbackTransport
from portico.domain import errors
from portico.domain.errors import ErrorCode, PorticoError, ServerLost

_KINDS: dict[ErrorCode, type[PorticoError]] = {
    kind.code: kind
    for kind in (
        errors.InvalidInput,
        errors.SessionNotFound,
        errors.SessionBusy,
        errors.PermissionDenied,
        errors.BudgetExceeded,
        errors.AuthRequired,
        errors.AgentNotFound,
        errors.AgentCrashed,
        errors.AgentTimedOut,
        errors.MalformedEvent,
        errors.ContextLimit,
        errors.DeveloperMustAct,
    )
}


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """URL and token of a server that has proved to be the user's own."""

    url: str
    token: str


class ServerCalls:
    """Source of clients of AgentService. The server is found and verified again for each call."""

    def __init__(self, find: Callable[[], Awaitable[ServerAddress]]) -> None:
        self._find = find

    @asynccontextmanager
    async def client(self) -> AsyncIterator[tuple[AgentServiceClient, dict[str, str]]]:
        """A client of the contract, and the headers for each call.

        Raises the error that the server reports, and ServerLost if there is no server or its answer breaks off.
        """
        address = await self._find()
        client = AgentServiceClient(
            address.url.rstrip("/"),
            http_client=HttpClient(LoopbackTransport()),
            accept_compression=(),
            send_compression=None,
        )
        try:
            yield client, {"authorization": f"Bearer {address.token}"}
        except ConnectError as error:
            _raise_reported(error)


def _raise_reported(error: ConnectError) -> NoReturn:
    if isinstance(error.__cause__, asyncio.CancelledError):
        raise error.__cause__
    for detail in error.details:
        if (reported := detail.value(events_pb.ErrorDetails)) is not None:
            kind = _KINDS[ErrorCode[reported.code.name]]
            raise kind(error.message, details=from_error_details(reported)) from error
    raise ServerLost(
        f"Your server did not answer: {error.message}", suggestion="Check it with: portico status"
    ) from error
