"""Calls to AgentService on the user's server, with its errors raised as Portico errors."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, NoReturn, Protocol, TypeVar

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


Request_contra = TypeVar("Request_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)


class UnaryMethod(Protocol[Request_contra, Answer_co]):
    """A method of AgentServiceClient with one answer."""

    async def __call__(
        self, client: AgentServiceClient, request: Request_contra, /, *, headers: Mapping[str, str]
    ) -> Answer_co: ...


class StreamMethod(Protocol[Request_contra, Answer_co]):
    """A method of AgentServiceClient with a stream of answers."""

    def __call__(
        self, client: AgentServiceClient, request: Request_contra, /, *, headers: Mapping[str, str]
    ) -> AsyncIterator[Answer_co]: ...


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """URL and token of a server that has proved to be the user's own."""

    url: str
    token: str


class ServerCalls:
    """Caller of AgentService. The server is found and verified again for each call.

    Calls raise the error that the server reports, and ServerLost if there is no server or its answer breaks off.
    """

    def __init__(self, find: Callable[[], Awaitable[ServerAddress]]) -> None:
        self._find = find

    async def call(
        self, method: UnaryMethod[Request_contra, Answer_co], request: Request_contra
    ) -> Answer_co:
        async with self._client() as (client, headers):
            return await method(client, request, headers=headers)

    async def stream(
        self, method: StreamMethod[Request_contra, Answer_co], request: Request_contra
    ) -> AsyncGenerator[Answer_co]:
        async with self._client() as (client, headers):
            answers: Any = method(client, request, headers=headers)
            async with aclosing(answers):
                async for answer in answers:
                    yield answer

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[tuple[AgentServiceClient, Mapping[str, str]]]:
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
        f"The server did not respond: {error.message}", suggestion="Check it with: portico status"
    ) from error
