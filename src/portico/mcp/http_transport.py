"""MCP client transport over streamable HTTP.

A stream that ends before the response is resumed where it ended. Requests of the server, in such a stream or in one
that is kept open for them, are answered by a POST. The address comes from the user's settings, so private addresses
are allowed.
"""

import asyncio
import http.client
import logging
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec import Raw, UnsetType

from portico.mcp.client_transport import ClientPeer, McpServerFailed, McpServerTimedOut
from portico.mcp.http_request import (
    NETWORK_ERRORS,
    McpHttpRequest,
    McpHttpResponse,
    ResponseListener,
)
from portico.mcp.protocol import METHOD_HEADER, NAME_HEADER, SESSION_HEADER, VERSION_HEADER
from portico.processes.tasks import run_in_thread
from portico.rpc.messages import (
    Message,
    RpcError,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    outcome,
)

log = logging.getLogger(__name__)

_CONNECTING_SECONDS = 10.0
_FAREWELL_SECONDS = 5.0
_RETURNS = 10
_SHORTEST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_OPENING_SECONDS = 5.0
_THREADS = 8
_SHOWN = 200
_MOST_ASKED = 4
"""Requests of a server that are answered at a time; further ones are dropped."""


class McpHttpTransport:
    def __init__(self, name: str, url: str, headers: dict[str, str], peer: ClientPeer) -> None:
        """McpServerFailed if the address is invalid."""
        self._name = name
        self._peer = peer
        self._url = _address(name, url)
        self._headers = {
            **headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._ids = count(1)
        self._session: str | None = None
        # Its own threads: one that waits for a response must not keep requests of the server from being answered.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"MCP server {name}")
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None

    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        number = next(self._ids)
        body = encode_request(number, method, params)
        answer = await self._send("POST", body, number, _named(method, params), self._listener())
        message = answer.message or await self._resume(answer, number)
        if message is None:
            reason = f"it sent {answer.kind}. Check its address" if answer.kind else "the response broke off"
            raise McpServerFailed(f"The MCP server {self._name} did not answer {method}: {reason}.")
        return outcome(message)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self._send("POST", encode_notification(method, params), None, _named(method, params))

    async def agreed(self, version: str) -> None:
        self._headers[VERSION_HEADER] = version

    async def listen(self) -> None:
        """Open a stream for the server's own requests, and wait until it is open or refused."""
        listener = self._listener()
        self._listening = asyncio.create_task(self._keep_listening(listener), name=f"MCP server {self._name}")
        opening = asyncio.ensure_future(listener.open.wait())
        try:
            await asyncio.wait(
                {self._listening, opening}, timeout=_OPENING_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            opening.cancel()

    async def close(self) -> None:
        tasks = [*self._tasks, *([] if self._listening is None else [self._listening])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            if self._session is not None:
                async with asyncio.timeout(_FAREWELL_SECONDS):
                    await self._run(
                        McpHttpRequest(self._connection(), "DELETE", self._path(), self._sent(), b"")
                    )
        except (*NETWORK_ERRORS, ValueError):
            return
        finally:
            self._threads.shutdown(wait=False)

    async def _resume(self, answer: McpHttpResponse, number: int) -> Message | None:
        """The response to a request whose stream ended early, if the server said where to resume it."""
        for _ in range(_RETURNS):
            if answer.last_event is None:
                return None
            await asyncio.sleep(min(answer.retry_seconds, _LONGEST_PAUSE))
            answer = await self._send(
                "GET", b"", number, {"Last-Event-ID": answer.last_event}, self._listener()
            )
            if answer.message is not None:
                return answer.message
        return None

    async def _send(
        self,
        verb: str,
        body: bytes,
        number: int | None,
        more: dict[str, str],
        listener: ResponseListener | None = None,
    ) -> McpHttpResponse:
        headers = {**self._sent(), **more}
        request = McpHttpRequest(self._connection(), verb, self._path(), headers, body, number, listener)
        try:
            answer = await self._run(request)
        except NETWORK_ERRORS as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            kind = McpServerTimedOut if isinstance(error, TimeoutError) else McpServerFailed
            raise kind(f"The MCP server {self._name} cannot be reached: {reason}.") from error
        except ValueError:
            # The message would show the header, which may be a token.
            raise McpServerFailed(
                f"The MCP server {self._name} cannot be used: a header has invalid characters. "
                "Check its headers for line breaks."
            ) from None
        if answer.status >= 300 and answer.message is None:
            hint = ""
            if answer.status in (401, 403):
                hint = " Check its headers: it may need a token."
            elif answer.moved is not None:
                hint = f" It has moved to {answer.moved[:_SHOWN]}; if you trust that, change its address."
            raise McpServerFailed(f"The MCP server {self._name} answered with status {answer.status}.{hint}")
        self._session = answer.session or self._session
        return answer

    async def _run(self, request: McpHttpRequest) -> McpHttpResponse:
        return await run_in_thread(request.run, request.abandon, self._threads)

    async def _keep_listening(self, listener: ResponseListener) -> None:
        """Keep a stream open, if the server offers one, and reopen it when it ends."""
        last_event: str | None = None
        try:
            while True:
                more = {} if last_event is None else {"Last-Event-ID": last_event}
                answer = await self._send("GET", b"", None, more, listener)
                if not answer.streamed:
                    return
                last_event = answer.last_event or last_event
                await asyncio.sleep(min(max(answer.retry_seconds, _SHORTEST_PAUSE), _LONGEST_PAUSE))
        except McpServerFailed as error:
            log.debug("no stream for requests of the server: %s", error)

    def _listener(self) -> ResponseListener:
        return ResponseListener(asyncio.get_running_loop(), self._receive)

    def _receive(self, message: Message) -> None:
        if len(self._tasks) >= _MOST_ASKED:
            log.warning("MCP server %s sends too many requests; %s is dropped", self._name, message.method)
            return
        task = asyncio.create_task(self._answer(message), name=f"answering the MCP server {self._name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: Message) -> None:
        assert message.method is not None
        assert not isinstance(message.id, UnsetType)
        try:
            body = encode_result(message.id, await self._peer.answer(message.method, message.params))
        except RpcError as error:
            body = encode_error(message.id, error)
        try:
            await self._send("POST", body, None, {})
        except McpServerFailed as error:
            log.warning("the response to %s was lost: %s", message.method, error)

    def _sent(self) -> dict[str, str]:
        return self._headers if self._session is None else {**self._headers, SESSION_HEADER: self._session}

    def _path(self) -> str:
        return (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname, self._url.port
        match self._url.scheme:
            case "http" if host is not None:
                return http.client.HTTPConnection(host, port, timeout=_CONNECTING_SECONDS)
            case "https" if host is not None:
                return http.client.HTTPSConnection(host, port, timeout=_CONNECTING_SECONDS)
            case _:
                raise McpServerFailed(f"The MCP server {self._name} has no usable address.")


def _address(name: str, url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        # The message would show part of the address, which may have a password.
        raise McpServerFailed(f"The MCP server {name} has no usable address. Check its url.") from None
    return address


def _named(method: str, params: dict[str, Any]) -> dict[str, str]:
    """Headers that tell proxies on the way what a request is about."""
    name = params.get("name")
    return {
        METHOD_HEADER: method,
        **({NAME_HEADER: name} if isinstance(name, str) and name.isascii() else {}),
    }
