"""`portico models check`: sends a short prompt to a model and reports how it answered."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from portico.app.failure_report import make_failure_report
from portico.config.settings import Settings
from portico.domain.errors import InvalidInput, PorticoError
from portico.doors.terminal.sanitizer import clean_line
from portico.porter.models.model import (
    Model,
    ModelRequest,
    ModelText,
    ModelUsage,
    RequestLimits,
    RequestRetry,
    ResponseFinished,
    TextChunk,
    UserMessage,
)
from portico.porter.models.providers import OFFLINE, parse_model_name
from portico.porter.models.selection import default_model, open_model

_MAX_ANSWER = 200
_QUESTION = ModelRequest(
    system="",
    messages=(UserMessage((ModelText("Answer with one word: ready."),)),),
    limits=RequestLimits(output_tokens=1000),
)


_SPEED_TOKENS = 48
_SPEED_QUESTION = ModelRequest(
    system="",
    messages=(UserMessage((ModelText("Write the numbers from 1 to 40, separated by spaces."),)),),
    limits=RequestLimits(output_tokens=_SPEED_TOKENS),
)


class ModelCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The answer of a model, with its times in seconds since the request.

    `tokens_per_second` is measured for offline models only, from the first word to the last of a longer answer.
    """

    name: str
    ready: bool = False
    first_seconds: float | None = None
    total_seconds: float | None = None
    answer: str = ""
    window: int | None = None
    cost_usd: float | None = None
    retries: int = 0
    tokens_per_second: float | None = None


def check_model(name: str | None, settings: Settings, environ: Mapping[str, str], *, api: bool) -> int:
    wanted = name or default_model(settings.model, environ)
    if wanted is None:
        raise InvalidInput("No model has been chosen.", suggestion="Name one, or: portico models use NAME")
    checkup, problem = asyncio.run(_examine(wanted, settings, environ))
    if api:
        status: dict[str, Any] = {"status": "ok"}
        if problem is not None:
            status = msgspec.structs.asdict(make_failure_report(problem, os.urandom(8).hex()))
        print(msgspec.json.encode({**status, "model": checkup}).decode())
    else:
        _tell(checkup, problem)
    return 0 if problem is None else int(problem.exit_code)


async def _examine(
    name: str, settings: Settings, environ: Mapping[str, str]
) -> tuple[ModelCheck, PorticoError | None]:
    checkup = ModelCheck(name=name)
    try:
        model = open_model(name, settings.models, environ)
        try:
            checkup = msgspec.structs.replace(checkup, window=(await model.facts()).window)
            checkup = await _ask(model, checkup)
            if parse_model_name(name).provider == OFFLINE:
                checkup = msgspec.structs.replace(checkup, tokens_per_second=await _speed(model))
            return checkup, None
        finally:
            await model.close()
    except PorticoError as error:
        return checkup, error


async def _ask(model: Model, checkup: ModelCheck) -> ModelCheck:
    asked = time.monotonic()
    async for event in model.stream(_QUESTION):
        passed = round(time.monotonic() - asked, 3)
        match event:
            case TextChunk() if checkup.first_seconds is None:
                checkup = msgspec.structs.replace(checkup, first_seconds=passed)
            case RequestRetry(reason=reason, pause=pause):
                print(f"{clean_line(reason)} Trying again in {pause:.0f} s …", file=sys.stderr)
                checkup = msgspec.structs.replace(checkup, retries=checkup.retries + 1)
            case ModelUsage(cost_usd=cost):
                checkup = msgspec.structs.replace(checkup, cost_usd=cost)
            case ResponseFinished(message=message):
                answer = message.text.strip()[:_MAX_ANSWER]
                checkup = msgspec.structs.replace(checkup, ready=True, total_seconds=passed, answer=answer)
            case _:
                pass
    return checkup


async def _speed(model: Model) -> float | None:
    first, tokens = 0.0, 0
    async for event in model.stream(_SPEED_QUESTION):
        match event:
            case TextChunk() if not first:
                first = time.monotonic()
            case ModelUsage(output=tokens):
                pass
            case _:
                pass
    # The first token came before the time was taken.
    return round((tokens - 1) / (time.monotonic() - first), 1) if tokens > 1 else None


def _tell(checkup: ModelCheck, problem: PorticoError | None) -> None:
    if problem is not None:
        print(f"✗ {checkup.name}\n  {clean_line(problem.message)}")
        if problem.suggestion:
            print(f"  {problem.suggestion}")
        return
    print(f"✓ {checkup.name} answers: {clean_line(checkup.answer)}")
    print(
        f"  first word after {checkup.first_seconds or 0:.1f} s, all of it after {checkup.total_seconds:.1f} s"
    )
    if checkup.tokens_per_second:
        print(f"  {checkup.tokens_per_second:.1f} tokens per second")
    if checkup.window:
        print(f"  window of {checkup.window:,} tokens")
    if checkup.cost_usd:
        print(f"  this cost ${checkup.cost_usd:.4f}")
