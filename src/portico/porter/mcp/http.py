"""An MCP server behind an address, by streamable HTTP: each request is a POST, its answer JSON or a stream of events.

A stream that ends before the answer is taken up again where it ended. The address comes from the client, so a
private one is as good as any.
"""

import asyncio
import http.client
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from msgspec import Raw

from portico.porter.mcp.channel import ServerFailed
from portico.porter.mcp.errand import SESSION, Answer, Errand, Failure
from portico.rpc.messages import ErrorObject, Frame, RpcError, encode_notification, encode_request

_SILENCE = 150.0
_FAREWELL_SECONDS = 5.0
_RETURNS = 10
_LONGEST_PAUSE = 30.0


class HttpChannel:
    def __init__(self, name: str, url: str, headers: dict[str, str]) -> None:
        self._name = name
        self._url = urlsplit(url)
        self._headers = {
            **headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._ids = count(1)
        self._session: str | None = None

    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        number = next(self._ids)
        answer = await self._send("POST", encode_request(number, method, params), number, method, params)
        frame = answer.frame or await self._taken_up(answer, number)
        if frame is None:
            raise ServerFailed(f"The MCP server {self._name} did not answer {method}.")
        if isinstance(frame.error, ErrorObject):
            raise RpcError(frame.error.code, frame.error.message, frame.error.data)
        assert isinstance(frame.result, Raw)
        return frame.result

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self._send("POST", encode_notification(method, params), None, method, params)

    async def agreed(self, version: str) -> None:
        self._headers["MCP-Protocol-Version"] = version

    async def close(self) -> None:
        if self._session is not None:
            errand = Errand(self._connection(), "DELETE", self._path(), self._sent(), b"", None)
            try:
                async with asyncio.timeout(_FAREWELL_SECONDS):
                    await _in_thread(errand)
            except Failure:
                return

    async def _taken_up(self, answer: Answer, number: int) -> Frame | None:
        """The answer to a request whose stream ended early, if the server said where to go on."""
        for _ in range(_RETURNS):
            if answer.last_event is None:
                return None
            await asyncio.sleep(min(answer.pause, _LONGEST_PAUSE))
            answer = await self._send("GET", b"", number, None, {}, {"Last-Event-ID": answer.last_event})
            if answer.frame is not None:
                return answer.frame
        return None

    async def _send(
        self,
        verb: str,
        body: bytes,
        number: int | None,
        method: str | None,
        params: dict[str, Any],
        more: dict[str, str] | None = None,
    ) -> Answer:
        headers = {**self._sent(), **(more or {})}
        if method is not None:
            headers["Mcp-Method"] = method
        if isinstance(name := params.get("name"), str) and name.isascii():
            headers["Mcp-Name"] = name
        errand = Errand(self._connection(), verb, self._path(), headers, body, number)
        try:
            answer = await _in_thread(errand)
        except Failure as error:
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ServerFailed(f"The MCP server {self._name} cannot be reached: {words}.") from error
        if answer.status >= 400 and answer.frame is None:
            raise ServerFailed(f"The MCP server {self._name} answered with status {answer.status}.")
        self._session = answer.session or self._session
        return answer

    def _sent(self) -> dict[str, str]:
        return self._headers if self._session is None else {**self._headers, SESSION: self._session}

    def _path(self) -> str:
        return (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname, self._url.port
        match self._url.scheme:
            case "http" if host is not None:
                return http.client.HTTPConnection(host, port, timeout=_SILENCE)
            case "https" if host is not None:
                return http.client.HTTPSConnection(host, port, timeout=_SILENCE)
            case _:
                raise ServerFailed(f"The MCP server {self._name} has no address that can be used.")


async def _in_thread(errand: Errand) -> Answer:
    working = asyncio.ensure_future(asyncio.to_thread(errand.run))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        errand.abandon()
        await asyncio.wait({working})
        raise
