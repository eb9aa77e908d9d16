"""A model that begins to answer and never ends, until the caller hangs up."""

import asyncio
import json
from types import TracebackType
from typing import Self

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class SlowModel:
    """Speaks as OpenAI's chat completions do. `left` is set when a caller has gone."""

    def __init__(self, begins: str) -> None:
        self._begins = begins
        self._server: asyncio.Server | None = None
        self.left = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        choice = {"index": 0, "delta": {"role": "assistant", "content": self._begins}}
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "slow",
            "choices": [choice],
        }
        data = f"data: {json.dumps(chunk)}\n\n".encode()
        writer.write(_HEAD + f"{len(data):x}\r\n".encode() + data + b"\r\n")
        try:
            while await reader.read(65_536):
                pass
        except ConnectionError:
            pass
        self.left.set()
        writer.close()
