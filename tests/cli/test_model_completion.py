"""Models without an agent, used by programs through the server: tools, cancelling, budgets."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.test_model_failures import environ
from tests.support.model_endpoint import BAD_KEY, Answer, Call, ModelEndpoint, Say, Think, Tokens
from tests.support.program import Portico
from tests.support.serving import Server, detach
from tests.support.slow_model import SlowModel
from tests.support.stream import Json

WEATHER = {
    "name": "weather",
    "description": "The weather of a place",
    "schemaJson": json.dumps({"type": "object", "properties": {"place": {"type": "string"}}}),
}


def user(*parts: Json) -> Json:
    return {"role": "MODEL_ROLE_USER", "parts": list(parts)}


def assistant(*parts: Json) -> Json:
    return {"role": "MODEL_ROLE_ASSISTANT", "parts": list(parts)}


def result(call_id: str, text: str) -> Json:
    return {"result": {"callId": call_id, "text": text}}


def read(server: Server, request: Json) -> tuple[list[Json], Json]:
    """All that comes, and how it ends."""
    stream = server.stream("CompleteModel", request)
    updates = []
    while (update := stream.next()) is not None:
        updates.append(update)
    assert stream.ending is not None
    return updates, stream.ending


async def off_loop(act: Callable[..., Any], *words: Any, **more: Any) -> Any:
    """The model answers in this very process, so nothing may hold its loop up."""
    return await asyncio.to_thread(act, *words, **more)


async def test_a_model_asks_for_tools_and_goes_on_with_their_results(
    portico: Portico, server: Server
) -> None:
    both = Answer(
        Think("Both places."),
        Say("I look. "),
        Call("weather", '{"place": "Oslo"}', "call_1"),
        Call("weather", '{"place": "Rome"}', "call_2"),
    )
    async with ModelEndpoint(both, Answer(Say("Rain, and sun."))) as endpoint:
        await off_loop(detach, portico, environ=environ(endpoint))
        question = user({"text": "How is the weather in Oslo and Rome?"})
        updates, _ = await off_loop(
            read, server, {"system": "Be brief.", "messages": [question], "tools": [WEATHER]}
        )
        calls = [one["call"] for one in updates if "call" in one]
        assert "".join(one.get("text", "") for one in updates) == "I look. "
        assert "".join(one.get("thinking", "") for one in updates) == "Both places."
        assert [(one["callId"], json.loads(one["argumentsJson"])["place"]) for one in calls] == [
            ("call_1", "Oslo"),
            ("call_2", "Rome"),
        ]
        said = assistant({"text": "I look. "}, *({"call": one} for one in calls))
        answers = [user(result("call_2", "sun")), user(result("call_1", "rain"), {"text": "Well?"})]
        request = {"messages": [question, said, *answers], "tools": [WEATHER]}
        updates, ending = await off_loop(read, server, request)
    assert "".join(one.get("text", "") for one in updates) == "Rain, and sun."
    assert "error" not in ending
    first, second = (one.body for one in endpoint.requests)
    assert "Be brief." in json.dumps(first["system"])
    assert first["tools"][0]["name"] == "weather"
    results = [
        part for message in second["messages"] for part in message["content"] if part["type"] == "tool_result"
    ]
    assert [one["tool_use_id"] for one in results] == ["call_1", "call_2"]
    assert "rain" in json.dumps(results[0])


async def test_a_call_that_nobody_carried_out_is_told_so_to_the_model(
    portico: Portico, server: Server
) -> None:
    async with ModelEndpoint(Answer(Say("Then not."))) as endpoint:
        await off_loop(detach, portico, environ=environ(endpoint))
        call = {"call": {"callId": "call_1", "name": "weather", "argumentsJson": "{}"}}
        request = {"messages": [user({"text": "Hello"}), assistant(call), user({"text": "Never mind."})]}
        await off_loop(read, server, request)
    sent = json.dumps(endpoint.requests[0].body["messages"])
    assert "The call was not carried out." in sent
    assert "Never mind." in sent


async def test_a_caller_that_leaves_ends_the_request_at_the_model(portico: Portico, server: Server) -> None:
    async with SlowModel("Once upon") as model:
        portico.settings({"model": "mine:slow", "models": {"mine": {"address": model.address}}})
        await off_loop(detach, portico)
        stream = await off_loop(server.stream, "CompleteModel", {"messages": [user({"text": "Tell me"})]})
        assert await off_loop(stream.next) == {"text": "Once upon"}
        stream.leave()
        async with asyncio.timeout(30):
            await model.left.wait()


async def test_what_may_be_spent_in_a_day_holds_for_bare_models_too(portico: Portico, server: Server) -> None:
    thirsty = Answer(Say("Hello."), tokens=Tokens(input=900, output=200))
    async with ModelEndpoint(thirsty, Answer(Say("Never said."))) as endpoint:
        await off_loop(detach, portico, environ=environ(endpoint, PORTICO_BUDGET_DAY="1000"))
        request = {"messages": [user({"text": "Hello"})]}
        updates, _ = await off_loop(read, server, request)
        _, ending = await off_loop(read, server, request)
    assert any("110% of the budget for today" in one.get("notice", "") for one in updates)
    assert ending["error"]["code"] == "resource_exhausted"
    assert len(endpoint.requests) == 1


async def test_a_key_that_is_given_later_makes_models_ready_and_is_told_to_nobody(
    portico: Portico, server: Server
) -> None:
    async with ModelEndpoint(BAD_KEY) as endpoint:
        await off_loop(detach, portico, environ={"OPENAI_BASE_URL": f"{endpoint.address}/v1"})
        assert (await off_loop(server.ask, "ListModels", {})).get("models", []) == []
        secret = {"name": "OPENAI_API_KEY", "value": "sk-a-very-secret-key"}
        await off_loop(server.ask, "SetSecret", secret)
        listed = await off_loop(server.ask, "ListModels", {})
        assert [one["name"].partition(":")[0] for one in listed["models"]] == ["openai", "openai-chat"]
        model = listed["models"][0]["name"]
        request = {"model": model, "messages": [user({"text": "Hello"})]}
        _, ending = await off_loop(read, server, request)
    assert endpoint.requests[0].key == "sk-a-very-secret-key"
    assert ending["error"]["code"] == "failed_precondition"
    assert "very-secret" not in json.dumps([listed, ending])
    assert "very-secret" not in "".join(file.read_text() for file in portico.state.glob("*.log"))


def test_providers_say_what_they_need_and_a_key_makes_one_ready(portico: Portico, server: Server) -> None:
    portico.settings({"models": {"mine": {"address": "http://127.0.0.1:9/v1"}}})
    detach(portico)
    before = {one["name"]: one for one in server.ask("ListProviders", {})["providers"]}
    mistral = before["mistral"]
    assert (mistral["keyVariable"], mistral["needsKey"]) == ("MISTRAL_API_KEY", True)
    assert mistral["models"][0] == "mistral-large-4"
    assert len(mistral["models"]) > 1
    assert "ready" not in mistral
    (coder,) = before["offline"]["downloads"]
    assert (coder["name"], coder["size"]) == ("offline:qwen2.5-coder", "1117320768")
    assert (coder["license"], coder.get("done", False)) == ("Apache-2.0", False)
    assert (before["mine"]["ready"], before["mine"].get("keyVariable", "")) == (True, "")
    server.ask("SetSecret", {"name": "MISTRAL_API_KEY", "value": "sk-a-very-secret-key"})
    chosen = [{"name": "model", "valueJson": '"mistral:mistral-large-4"'}]
    server.ask("SetSettings", {"settings": chosen})
    after = server.ask("ListProviders", {})
    (mistral,) = [one for one in after["providers"] if one["name"] == "mistral"]
    assert (mistral["ready"], mistral["hasKey"], mistral.get("needsKey", False)) == (True, True, False)
    assert after["model"] == "mistral:mistral-large-4"
    assert "very-secret" not in json.dumps(after)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"messages": []}, "The conversation is empty."),
        ({"messages": [user({"text": "Hi"})]}, "No model has been chosen."),
        ({"model": "nobody:x", "messages": [user({"text": "Hi"})]}, "Unknown provider"),
        (
            {"messages": [user({"text": "Hi"})], "tools": [{"name": "odd", "schemaJson": "[1"}]},
            "The schema of the tool odd",
        ),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    portico: Portico, server: Server, request_: Json, words: str
) -> None:
    detach(portico)
    _, ending = read(server, request_)
    assert ending["error"]["code"] == "invalid_argument"
    assert words in ending["error"]["message"]
