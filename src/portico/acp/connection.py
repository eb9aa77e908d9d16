"""Common base of both sides of an ACP connection: typed dispatch by method name, and error answers.

A side serves the methods it was given and refuses others with `METHOD_NOT_FOUND`, so a capability is present
exactly when its functions are.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import Raw

from portico.acp import _schema as schema
from portico.acp.extension_handlers import ExtensionHandlers
from portico.acp.lenient_decoder import decode
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.frames import Tap, Transport
from portico.rpc.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Fault, RpcError

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002

MethodHandler = Callable[[Any], Awaitable[Any]]
Result = TypeVar("Result")


class AcpConnection:
    """One side of a connection: serves some methods, calls the other side's."""

    finishes: ClassVar[bool] = False
    """Whether it answers what it was asked after the other side has closed its end."""

    def __init__(
        self,
        transport: Transport,
        *,
        name: str,
        served: Mapping[str, schema.Method],
        serve: Mapping[str, MethodHandler],
        tap: Tap | None,
        extensions: ExtensionHandlers | None = None,
    ) -> None:
        self.name = name
        self._extensions = extensions or ExtensionHandlers()
        self._served = served
        self._serve = serve
        self._connection = RpcConnection(transport, self, name=name, tap=tap, finishes=self.finishes)

    async def run(self) -> None:
        """Read and answer until the other side is gone."""
        await self._connection.run()

    async def drain(self) -> None:
        await self._connection.drain()

    async def close(self) -> None:
        await self._connection.close()

    async def call(self, method: str, params: schema.Wire, result: type[Result]) -> Result:
        """Call the other side. RpcError for an error response, or for a malformed one."""
        answer = await self._connection.request(method, params)
        try:
            return decode(answer, result)
        except msgspec.DecodeError as error:
            raise RpcError(INVALID_PARAMS, f"the answer to {method} is malformed: {error}") from error

    async def call_extension(self, method: str, params: Any) -> Raw:
        """Call an extension method of the other side. RpcError for an error response."""
        return await self._connection.request(method, params)

    def notify_extension(self, method: str, params: Any) -> None:
        """Send an extension notification to the other side."""
        self._connection.notify(method, params)

    async def request(self, method: str, params: Raw) -> RpcReply:
        if (extension := self._extensions.method(method)) is not None:
            return RpcReply(await extension(params))
        serve, known = self._serve.get(method), self._served.get(method)
        if serve is None or known is None:
            raise RpcError(METHOD_NOT_FOUND, f"{method} is not offered here")
        try:
            request = decode(params, known.params)
        except msgspec.DecodeError as error:
            raise RpcError(INVALID_PARAMS, f"{method}: {error}") from error
        return RpcReply(await serve(request))

    def notification(self, method: str, params: Raw) -> None:
        """Unknown notifications are ignored, as JSON-RPC says."""

    def fault(self, fault: Fault) -> None:
        """Malformed messages are logged and ignored, unless a subclass reports them."""
        log.warning("%s: %s ignored: %s", self.name, fault.kind, fault.detail)

    async def ready(self) -> None:
        """The peer is not held back unless a subclass does so."""
