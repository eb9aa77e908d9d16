"""Time to the first token of an offline model: the second turn of a long conversation against its first.

The model is the one that Porter would use: the coder if it was pulled, else the tiny one of the tests.
"""

import asyncio
import os
import time

from bench.report import Budget, Line, Section, ratio
from bench.samples import Samples
from portico.porter.models.model import (
    Message,
    Model,
    ModelRequest,
    ModelText,
    ModelUsage,
    RequestLimits,
    ResponseFinished,
    TextChunk,
    UserMessage,
)
from portico.porter.models.offline.model_files import preferred_file
from portico.porter.models.selection import open_model
from scripts.fetch_offline_model import offline_home, offline_model

TOKENS = 4000
REUSED = Budget("at most", 0.2)
_LINE = "def function_{number}(value: int) -> int:\n    return value * {number}\n\n"
_TOKENS_PER_LINE = 20
_ANSWER_TOKENS = 16


def measure() -> Section:
    environ = dict(os.environ)
    if preferred_file(environ) is None:
        offline_model()
        environ["PORTICO_HOME"] = str(offline_home())
    file = preferred_file(environ)
    assert file is not None
    first, second, size = asyncio.run(_converse(open_model(f"offline:{file.name}", {}, environ)))
    one, two = Samples((first,)), Samples((second,))
    return Section(
        title=f"Second turn of a conversation of {size:,} tokens with {file.title}",
        lines=(
            Line(what="first token of the first turn", samples=one, unit="seconds"),
            Line(what="first token of the second turn", samples=two, unit="seconds"),
            ratio("second over first", two, one, REUSED),
        ),
    )


async def _converse(model: Model) -> tuple[float, float, int]:
    """Return the time to the first token of two turns, and the tokens of the first prompt."""
    code = "".join(_LINE.format(number=number) for number in range(TOKENS // _TOKENS_PER_LINE))
    history: tuple[Message, ...] = (UserMessage((ModelText(f"{code}\nName one function of this file."),)),)
    times, size = [], 0
    try:
        # The endpoint starts with the first request, and that is not what is measured.
        await _ask(model, (UserMessage((ModelText("Hi"),)),))
        for question in ("And another one.", ""):
            passed, answer, used = await _ask(model, history)
            times.append(passed)
            size = size or used
            history = (*history, answer, UserMessage((ModelText(question),)))
    finally:
        await model.close()
    return times[0], times[1], size


async def _ask(model: Model, messages: tuple[Message, ...]) -> tuple[float, Message, int]:
    request = ModelRequest(
        system="You are a helpful assistant for programmers.",
        messages=messages,
        limits=RequestLimits(output_tokens=_ANSWER_TOKENS, temperature=0.0),
    )
    asked, first, used = time.perf_counter(), 0.0, 0
    async for event in model.stream(request):
        match event:
            case TextChunk():
                first = first or time.perf_counter() - asked
            case ModelUsage(input=used):
                pass
            case ResponseFinished(message=message):
                return first, message, used
            case _:
                pass
    raise AssertionError("the stream had no end")
