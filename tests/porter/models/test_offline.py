"""The offline model, for real: it answers, is shared, is closed to strangers, and ends with the process that started it."""

import asyncio
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import msgspec
import psutil
import pytest

from portico.domain.errors import ContextLimit, InvalidInput, ModelTimedOut
from portico.porter.models.model import (
    Model,
    ModelEvent,
    ModelRequest,
    ModelText,
    ModelUsage,
    RequestLimits,
    RequestRetry,
    ResponseFinished,
    TextChunk,
    UserMessage,
)
from portico.porter.models.offline.endpoint_record import EndpointRecord, living_record, record_file
from portico.porter.models.offline.model_files import DEFAULT
from portico.porter.models.selection import default_model, open_model
from tests.support.offline import have_offline_model
from tests.support.waiting import wait_until

COLOUR = (
    b'{"type":"object","properties":{"colour":{"enum":["red","blue"]}},"required":["colour"],'
    b'"additionalProperties":false}'
)


@pytest.fixture
def environ(own_home: Path) -> Mapping[str, str]:
    found = dict(os.environ)
    have_offline_model(found)
    return found


def prompt(text: str) -> ModelRequest:
    return ModelRequest(
        system="You answer in a few words.",
        messages=(UserMessage((ModelText(text),)),),
        limits=RequestLimits(output_tokens=16, silence=60.0),
    )


def running(environ: Mapping[str, str]) -> EndpointRecord | None:
    return living_record(record_file(DEFAULT, environ))


async def test_it_answers_in_pieces_without_a_key_or_a_price_and_keeps_to_a_schema(
    environ: Mapping[str, str],
) -> None:
    assert default_model(None, environ) == "offline:smollm2"
    model = open_model("offline:smollm2", {}, environ)
    assert running(environ) is None
    events = [event async for event in model.stream(prompt("Say hello."))]
    facts = await model.facts()
    chosen = await _say(model, msgspec.structs.replace(prompt("Choose a colour."), response_schema=COLOUR))
    await model.close()
    assert chosen in ('{"colour":"red"}', '{"colour":"blue"}')
    assert len([event for event in events if isinstance(event, TextChunk)]) > 1
    (usage,) = [event for event in events if isinstance(event, ModelUsage)]
    assert usage.input > 0
    assert usage.output > 0
    assert usage.cost_usd == 0.0
    assert isinstance(events[-1], ResponseFinished)
    assert facts.tiny
    assert not facts.tools
    assert running(environ) is None


async def test_all_who_use_it_share_one_and_the_last_to_leave_ends_it(environ: Mapping[str, str]) -> None:
    first, second = (open_model("offline:smollm2", {}, environ) for _ in range(2))
    await _ask(first)
    found = running(environ)
    assert found is not None
    assert oct(record_file(DEFAULT, environ).stat().st_mode)[-3:] == "600"
    await _ask(second)
    await first.close()
    assert running(environ) == found
    await _ask(second)
    await second.close()
    assert running(environ) is None
    assert not record_file(DEFAULT, environ).exists()


async def test_whoever_does_not_know_its_key_gets_nothing(environ: Mapping[str, str]) -> None:
    model = open_model("offline:smollm2", {}, environ)
    await _ask(model)
    found = running(environ)
    assert found is not None
    assert found.address.startswith("http://127.0.0.1:")
    body = b'{"messages":[{"role":"user","content":"hi"}]}'
    stranger = urllib.request.Request(
        f"{found.address}/chat/completions", body, {"Authorization": "Bearer x"}
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        await asyncio.to_thread(urllib.request.urlopen, stranger, timeout=10)
    await model.close()


def kill_endpoint() -> None:
    (child,) = [
        one
        for one in psutil.Process().children(recursive=True)
        if "portico.porter.models.offline" in one.cmdline()
    ]
    child.kill()


async def test_when_it_is_killed_the_next_request_starts_another(environ: Mapping[str, str]) -> None:
    model = open_model("offline:smollm2", {}, environ)
    await _ask(model)
    before = running(environ)
    kill_endpoint()
    wait_until(lambda: running(environ) is None, "the end of the endpoint")
    await _ask(model)
    assert running(environ) not in (None, before)
    await model.close()


async def test_when_it_is_killed_in_the_middle_of_an_answer_that_is_said_and_the_next_request_works(
    environ: Mapping[str, str],
) -> None:
    model = open_model("offline:smollm2", {}, environ)
    # An answer that is far from its end when its first piece comes.
    numbers = b'{"type":"array","minItems":300,"items":{"type":"integer"}}'
    limits = RequestLimits(output_tokens=1000, silence=60.0)
    request = msgspec.structs.replace(prompt("Count."), response_schema=numbers, limits=limits)
    seen: list[ModelEvent] = []

    async def answer() -> None:
        async for event in model.stream(request):
            if isinstance(event, TextChunk) and not seen:
                kill_endpoint()
            seen.append(event)

    with pytest.raises(ModelTimedOut):
        await answer()
    assert isinstance(seen[0], TextChunk)
    assert not any(isinstance(event, ResponseFinished) for event in seen)
    # Its connections end before it does; a request in between would be sent again.
    wait_until(lambda: running(environ) is None, "the end of the endpoint")
    await _ask(model)
    await model.close()


def test_it_ends_when_the_porter_that_started_it_is_killed(environ: Mapping[str, str]) -> None:
    program = (
        "import asyncio, os\n"
        "from portico.porter.models.selection import open_model\n"
        "async def main():\n"
        "    model = open_model('offline:smollm2', {}, dict(os.environ))\n"
        "    await model._locate()\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    porter = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=dict(environ))
    assert porter.stdout is not None
    with porter.stdout:
        assert porter.stdout.readline() == b"ready\n"
        assert running(environ) is not None
        porter.send_signal(signal.SIGKILL)
        porter.wait(timeout=30)
        wait_until(lambda: running(environ) is None, "the end of the endpoint")


async def test_a_conversation_that_is_too_long_for_it_is_said_to_be(environ: Mapping[str, str]) -> None:
    model = open_model("offline:smollm2", {}, environ)
    with pytest.raises(ContextLimit):
        await _ask(model, "word " * 9000)
    await model.close()


async def test_without_its_file_the_command_that_fetches_it_is_named(own_home: Path) -> None:
    assert default_model(None, os.environ) is None
    model = open_model("offline:smollm2", {}, dict(os.environ))
    with pytest.raises(InvalidInput) as error:
        await _ask(model)
    assert "portico models pull smollm2" in str(error.value.suggestion)
    await model.close()


async def _say(model: Model, request: ModelRequest) -> str:
    text = "".join([event.text async for event in model.stream(request) if isinstance(event, TextChunk)])
    return "".join(text.split())


async def _ask(model: Model, text: str = "Hi") -> None:
    async for event in model.stream(prompt(text)):
        assert not isinstance(event, RequestRetry), event


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize(("number", "words"), [("ILL", "AVX2"), ("KILL", "not enough memory")])
async def test_an_endpoint_that_the_system_ends_is_explained(
    environ: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, words: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nkill -{number} $$\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    model = open_model("offline:smollm2", {}, environ)
    with pytest.raises(ModelTimedOut, match=words):
        await _ask(model)
    await model.close()
