"""A model on the wire that speaks OpenAI's chat completions and notes when it was asked and when it spoke.

It uses the standard library alone, prints its port, and ends with its standard input. GET /last tells the last
two moments by the clock that all processes of a machine share.
"""

import asyncio
import json
import sys
import time
from typing import Any

WORDS = 20
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"


class Endpoint:
    def __init__(self) -> None:
        self.asked = self.spoke = 0.0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while first := await reader.read(1):
                now = time.perf_counter()
                head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                await reader.readexactly(_length(head))
                if head.startswith("GET"):
                    moments = json.dumps({"asked": self.asked, "spoke": self.spoke})
                    writer.write(_HEAD % b"application/json" + _chunk(moments) + b"0\r\n\r\n")
                else:
                    self.asked = now
                    await self._answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_HEAD % b"text/event-stream")
        writer.write(_event({"role": "assistant", "content": ""}))
        await writer.drain()
        self.spoke = time.perf_counter()
        for number in range(WORDS):
            writer.write(_event({"content": f"word {number} "}))
            await writer.drain()
        writer.write(_event({}, "stop") + _chunk("data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()


def _length(head: str) -> int:
    lines = (line.partition(":") for line in head.split("\r\n"))
    return next((int(value) for name, _, value in lines if name.lower() == "content-length"), 0)


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return _chunk(f"data: {json.dumps(chunk)}\n\n")


def _chunk(text: str) -> bytes:
    data = text.encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def main() -> None:
    server = await asyncio.start_server(Endpoint().converse, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
