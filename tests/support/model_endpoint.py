"""A model on the wire: an HTTP server that speaks as OpenAI (chat, responses), Anthropic, Google
and Bedrock do, by a script.

Every request takes the next reply of the script, whatever language it is asked in, and is kept in
`requests`, so that a test sees what really went over the wire. Replies can fail as the real ones do.

    async with ModelEndpoint(Answer(Say("Hello"))) as endpoint:
        … f"{endpoint.address}/v1" for OpenAI's clients, endpoint.address for the others
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Think:
    text: str
    signature: str = "c2lnbmVk"


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` goes over the wire as it is, in pieces, be it JSON or not."""

    name: str
    arguments: str
    id: str = "call_1"


Part = Say | Think | Call
Finish = Literal["auto", "length", "refused"]


@dataclass(frozen=True)
class Tokens:
    input: int = 100
    output: int = 20
    cached: int = 0


@dataclass(frozen=True, init=False)
class Answer:
    """Streamed in pieces. After `breaks_after` frames the connection is cut, after `hangs_after` it is silent."""

    parts: tuple[Part, ...]
    finish: Finish
    tokens: Tokens
    breaks_after: int | None
    hangs_after: int | None

    def __init__(
        self,
        *parts: Part,
        finish: Finish = "auto",
        tokens: Tokens = Tokens(),  # noqa: B008 - frozen
        breaks_after: int | None = None,
        hangs_after: int | None = None,
    ) -> None:
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "finish", finish)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "breaks_after", breaks_after)
        object.__setattr__(self, "hangs_after", hangs_after)


@dataclass(frozen=True)
class Refuse:
    """An error instead of an answer: 401, 429, 529, a conversation that is too long, …

    With `after`, the stream begins well and the error comes in the middle of it. `details` are those of Google.
    """

    status: int
    message: str = "it went wrong"
    type: str = "invalid_request_error"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    after: tuple[Part, ...] = ()
    details: tuple[Mapping[str, str], ...] = ()


TOO_LONG = Refuse(
    400,
    "prompt is too long: 300000 tokens > 200000 maximum; the maximum context length was exceeded",
    code="context_length_exceeded",
)
OVERLOADED = Refuse(529, "Overloaded", type="overloaded_error")
TOO_MANY = Refuse(429, "Too many requests", type="rate_limit_error", code="rate_limit_exceeded")
BAD_KEY = Refuse(401, "invalid x-api-key", type="authentication_error", code="invalid_api_key")


@dataclass(frozen=True)
class Raw:
    """Bytes with status 200 that no language has: the page of a proxy, half a frame, nothing."""

    body: bytes
    content_type: str = "text/event-stream"


Reply = Answer | Refuse | Raw


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def key(self) -> str:
        names = ("x-api-key", "x-goog-api-key", "api-key", "authorization")
        found = next((self.headers[name] for name in names if name in self.headers), "")
        return found.removeprefix("Bearer ")


class ModelEndpoint:
    """`key`, when set, is the only one that is accepted. `answer`, when set, answers once the script is over.

    With `drops_connections`, a second request on one connection finds it closed.
    """

    def __init__(self, *script: Reply) -> None:
        self._script = list(script)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.arrived = asyncio.Event()
        self.key: str | None = None
        self.answer: Callable[[Received], Reply] | None = None
        self.drops_connections = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End it before the test does, for a test about a server that is gone."""
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def add(self, *replies: Reply) -> None:
        self._script.extend(replies)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(reader, writer), name="model endpoint")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served = 0
        try:
            while received := await _read(reader):
                if self.drops_connections and served:
                    return
                served += 1
                self.requests.append(received)
                self.arrived.set()
                if not await self._serve(received, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _serve(self, received: Received, writer: asyncio.StreamWriter) -> bool:
        """False when the connection is to be cut."""
        from tests.support.model_wires import content_type, error_body, frames, language

        if received.path.endswith("/models"):
            if self.key is not None and received.key != self.key:
                _write_json(writer, BAD_KEY.status, error_body("chat", BAD_KEY))
                return True
            _write_json(writer, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            return True
        wire = language(received.path)
        reply = self._next(received)
        if isinstance(reply, Raw):
            head = f"HTTP/1.1 200 OK\r\ncontent-type: {reply.content_type}\r\ncontent-length: {len(reply.body)}\r\n\r\n"
            writer.write(head.encode() + reply.body)
            return True
        if isinstance(reply, Refuse) and not reply.after:
            _write_json(writer, reply.status, error_body(wire, reply), reply.headers)
            return True
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type(wire)}\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        for number, frame in enumerate(frames(wire, reply, received.body)):
            if isinstance(reply, Answer) and number == reply.breaks_after:
                writer.transport.abort()
                return False
            if isinstance(reply, Answer) and number == reply.hangs_after:
                await asyncio.Event().wait()
            writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _next(self, received: Received) -> Reply:
        if self.key is not None and received.key != self.key:
            return BAD_KEY
        if self._script:
            return self._script.pop(0)
        if self.answer is not None:
            return self.answer(received)
        return Refuse(500, "the script is over")


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    request_line, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(request_line.split()[1], headers, json.loads(body) if body else None)


def _write_json(
    writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None
) -> None:
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Scripted", "content-type: application/json", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + data)
