"""MCP client transport over streamable HTTP.

A stream that ends before the answer is taken up again where it ended. What the server asks, in such a stream or in
one that is kept open for it, is answered by a POST of its own. The address comes from the client, so a private one
is as good as any.
"""

import asyncio
import http.client
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec import Raw, UnsetType

from portico.mcp.client_transport import McpServerFailed, McpServerTimedOut
from portico.mcp.http_request import (
    NETWORK_ERRORS,
    SESSION,
    McpHttpRequest,
    McpHttpResponse,
    ResponseListener,
)
from portico.porter.mcp.server_requests import ServerRequests
from portico.porter.tasks import run_in_thread
from portico.rpc.messages import (
    NO_PARAMS,
    ErrorObject,
    Frame,
    RpcError,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
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
"""So many requests of a server are answered at a time; further ones are passed over."""


class McpHttpTransport:
    def __init__(self, name: str, url: str, headers: dict[str, str], asked: ServerRequests) -> None:
        """ServerFailed if the address is none."""
        self._name = name
        self._asked = asked
        self._url = _address(name, url)
        self._headers = {
            **headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._ids = count(1)
        self._session: str | None = None
        # Threads of its own: one that waits for an answer must not keep what the server asks from being answered.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"MCP server {name}")
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None

    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        number = next(self._ids)
        body = encode_request(number, method, params)
        answer = await self._send("POST", body, number, _named(method, params), self._listener())
        frame = answer.frame or await self._taken_up(answer, number)
        if frame is None:
            came = f"what came is {answer.kind}. Check its address" if answer.kind else "what came broke off"
            raise McpServerFailed(f"The MCP server {self._name} did not answer {method}: {came}.")
        if isinstance(frame.error, ErrorObject):
            raise RpcError(frame.error.code, frame.error.message, frame.error.data)
        assert isinstance(frame.result, Raw)
        return frame.result

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self._send("POST", encode_notification(method, params), None, _named(method, params))

    async def agreed(self, version: str) -> None:
        self._headers["MCP-Protocol-Version"] = version

    async def listen(self) -> None:
        """Returns when the server has taken it up, or not: what it asks before that may be lost."""
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

    async def _taken_up(self, answer: McpHttpResponse, number: int) -> Frame | None:
        """The answer to a request whose stream ended early, if the server said where to go on."""
        for _ in range(_RETURNS):
            if answer.last_event is None:
                return None
            await asyncio.sleep(min(answer.pause, _LONGEST_PAUSE))
            answer = await self._send(
                "GET", b"", number, {"Last-Event-ID": answer.last_event}, self._listener()
            )
            if answer.frame is not None:
                return answer.frame
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
        errand = McpHttpRequest(self._connection(), verb, self._path(), headers, body, number, listener)
        try:
            answer = await self._run(errand)
        except NETWORK_ERRORS as error:
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            kind = McpServerTimedOut if isinstance(error, TimeoutError) else McpServerFailed
            raise kind(f"The MCP server {self._name} cannot be reached: {words}.") from error
        except ValueError:
            # Its words would show the header, and that may be a token.
            raise McpServerFailed(
                f"The MCP server {self._name} cannot be asked: a header has letters that cannot be sent. "
                "Check its headers for line ends."
            ) from None
        if answer.status >= 300 and answer.frame is None:
            hint = ""
            if answer.status in (401, 403):
                hint = " Check its headers, which may have to hold a token."
            elif answer.moved is not None:
                hint = (
                    f" It says that it is at {answer.moved[:_SHOWN]} now; if that is so, give that address."
                )
            raise McpServerFailed(f"The MCP server {self._name} answered with status {answer.status}.{hint}")
        self._session = answer.session or self._session
        return answer

    async def _run(self, errand: McpHttpRequest) -> McpHttpResponse:
        return await run_in_thread(errand.run, errand.abandon, self._threads)

    async def _keep_listening(self, listener: "_LoopListener") -> None:
        """Keep a stream open, if the server offers one; those that end are opened again."""
        last_event: str | None = None
        try:
            while True:
                more = {} if last_event is None else {"Last-Event-ID": last_event}
                answer = await self._send("GET", b"", None, more, listener)
                if not answer.streamed:
                    return
                last_event = answer.last_event or last_event
                await asyncio.sleep(min(max(answer.pause, _SHORTEST_PAUSE), _LONGEST_PAUSE))
        except McpServerFailed as error:
            log.debug("nothing is heard of its own accord: %s", error)

    def _listener(self) -> "_LoopListener":
        return _LoopListener(asyncio.get_running_loop(), self._hear)

    def _hear(self, frame: Frame) -> None:
        if len(self._tasks) >= _MOST_ASKED:
            log.warning("MCP server %s asks too much at once; %s is passed over", self._name, frame.method)
            return
        task = asyncio.create_task(self._answer(frame), name=f"answering the MCP server {self._name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, frame: Frame) -> None:
        assert isinstance(frame.method, str)
        assert not isinstance(frame.id, UnsetType)
        params = frame.params if isinstance(frame.params, Raw) else NO_PARAMS
        try:
            body = encode_result(frame.id, await self._asked.answer(frame.method, params))
        except RpcError as error:
            body = encode_error(frame.id, error)
        try:
            await self._send("POST", body, None, {})
        except McpServerFailed as error:
            log.warning("an answer to %s was lost: %s", frame.method, error)

    def _sent(self) -> dict[str, str]:
        return self._headers if self._session is None else {**self._headers, SESSION: self._session}

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
                raise McpServerFailed(f"The MCP server {self._name} has no address that can be used.")


class _LoopListener:
    """Brings what a thread hears to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hear: Callable[[Frame], None]) -> None:
        self._loop = loop
        self._hear = hear
        self.open = asyncio.Event()

    def opened(self) -> None:
        self._loop.call_soon_threadsafe(self.open.set)

    def asked(self, frame: Frame) -> None:
        self._loop.call_soon_threadsafe(self._hear, frame)


def _address(name: str, url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        # Its words would show a part of the address, which may have a password.
        raise McpServerFailed(
            f"The MCP server {name} has no address that can be used. Check its url."
        ) from None
    return address


def _named(method: str, params: dict[str, Any]) -> dict[str, str]:
    """What a request is about, where those on the way can read it."""
    name = params.get("name")
    return {"Mcp-Method": method, **({"Mcp-Name": name} if isinstance(name, str) and name.isascii() else {})}
