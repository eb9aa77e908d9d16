"""Contender: calls of a model with pydantic-ai alone: bare_model.py ADDRESS STARTED"""

import asyncio
import sys
import time

import msgspec
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.model import CALLS, Stopwatch


async def main() -> None:
    address, started = sys.argv[1], float(sys.argv[2])
    watch = Stopwatch(address, started)
    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{address}/v1", api_key="none")))
    for _ in range(CALLS):
        prompted, heard = time.perf_counter(), 0.0
        async with agent.run_stream("hello") as answer:
            async for _piece in answer.stream_text(delta=True, debounce_by=None):
                heard = heard or time.perf_counter()
        watch.note(prompted, heard)
    sys.stdout.buffer.write(msgspec.json.encode(watch.calls))


if __name__ == "__main__":
    asyncio.run(main())
