"""An HTTP client of few words, for what a library would not let one send."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from portico.domain import codecs
from tests.conductor.mcp_support import HANDSHAKE, MODERN, frame

DEADLINE = 10.0


class Answer:
    def __init__(self, status: int, headers: dict[str, str], reader: asyncio.StreamReader) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader

    async def body(self) -> bytes:
        async with asyncio.timeout(DEADLINE):
            return await self._reader.read()

    async def json(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/json"
        body = await self.body()
        assert len(body) == int(self.headers["content-length"])
        found: dict[str, Any] = codecs.decode_json(body)
        return found

    async def event(self) -> dict[str, Any] | None:
        """The next event of a stream, signs of life left out; None at its end."""
        assert self.headers["content-type"] == "text/event-stream"
        while block := await self.block():
            if block != b":":
                name, data = block.split(b"\n")
                assert name == b"event: message"
                found: dict[str, Any] = codecs.decode_json(data.removeprefix(b"data: "))
                return found
        return None

    async def block(self) -> bytes:
        try:
            async with asyncio.timeout(DEADLINE):
                return (await self._reader.readuntil(b"\n\n"))[:-2]
        except asyncio.IncompleteReadError:
            return b""


class Connection:
    """One connection, to send anything at all on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    def hang_up(self) -> None:
        self._writer.close()

    async def answer(self) -> Answer:
        async with asyncio.timeout(DEADLINE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        version, status, _ = first.split(" ", 2)
        assert version == "HTTP/1.1"
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        assert headers["connection"] == "close"
        return Answer(int(status), headers, self._reader)

    async def ended(self) -> bool:
        """Whether the other end closes without a word."""
        async with asyncio.timeout(DEADLINE):
            return await self._reader.read() == b""


class Server:
    """An entry of `mcpServers` with a URL, as an agent uses it."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.url: str = entry["url"]
        self.host = self.url.removeprefix("http://").removesuffix("/mcp")
        self.headers = {header["name"]: header["value"] for header in entry["headers"]}
        self.session: dict[str, str] = {}

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        host, port = self.host.split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=32 * 1024 * 1024)
        try:
            yield Connection(reader, writer)
        finally:
            writer.close()

    def head(self, method: str, path: str = "/mcp", **headers: str | None) -> bytes:
        """A request up to its body. A header with None is left out; _ stands for - in its name."""
        wanted: dict[str, str | None] = {"Host": self.host, **self.headers, **self.session}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in wanted.items() if value is not None]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def posted(self, body: bytes, **headers: str | None) -> bytes:
        defaults: dict[str, str | None] = {
            "Content_Type": "application/json",
            "Content_Length": str(len(body)),
            "Accept": "application/json, text/event-stream",
        }
        return self.head("POST", "/mcp", **{**defaults, **headers}) + body

    @asynccontextmanager
    async def post(self, body: bytes, **headers: str | None) -> AsyncIterator[Answer]:
        async with self.connection() as connection:
            connection.send(self.posted(body, **headers))
            yield await connection.answer()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[Answer]:
        async with self.connection() as connection:
            connection.send(self.head("GET", Accept="text/event-stream"))
            yield await connection.answer()

    async def ask(self, request_id: Any, method: str, params: Any = None) -> dict[str, Any]:
        """Ask, for an answer in JSON."""
        fields = {} if params is None else {"params": params}
        async with self.post(frame(id=request_id, method=method, **fields)) as answer:
            assert answer.status == 200, await answer.body()
            return await answer.json()

    async def ask_modern(self, method: str, **params: Any) -> tuple[int, dict[str, Any]]:
        """Ask as the newest revision does, without a session; the status of HTTP, and the answer."""
        message = frame(id=1, method=method, params={**params, "_meta": MODERN})
        async with self.post(message, MCP_Protocol_Version="2026-07-28", Mcp_Method=method) as answer:
            return answer.status, await answer.json()

    async def tell(self, body: bytes) -> int:
        async with self.post(body) as answer:
            assert await answer.body() == b""
            return answer.status

    async def shake_hands(self) -> dict[str, Any]:
        """Open a session, and stay in it."""
        async with self.post(frame(id=0, method="initialize", params=HANDSHAKE)) as answer:
            self.session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
            greeting = await answer.json()
        assert await self.tell(frame(method="notifications/initialized")) == 202
        result: dict[str, Any] = greeting["result"]
        return result
