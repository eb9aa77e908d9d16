"""Portico's agents and models where VS Code has its own: the list of models, other extensions, @portico in the chat."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.chat import say
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House, furnish
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Refuse, Say
from tests.support.slow_model import SlowModel
from tests.support.stream import Json
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.editor import CodeServer, install
from tests.vscode.model_consumer import FILE_VARIABLE, Consumer, assistant, install_consumer, user
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

AGENT = "agent:scripted"
MODEL = "model:mine:talker"
NOWHERE = "http://127.0.0.1:9/v1"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {
    "name": "weather",
    "description": "The weather of a place",
    "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}},
}


class Place:
    """A user whose VS Code has its own chat, and another extension that uses models."""

    def __init__(self, house: House, server: CodeServer, consumer: Consumer) -> None:
        self.house = house
        self.server = server
        self.consumer = consumer
        self.listed_at_first: dict[str, Json] = {}
        self.was_started = False
        self.use(NOWHERE)

    def use(self, address: str) -> str:
        """Have a model of the user's own at an address; its name in VS Code."""
        models = {"mine": {"address": address, "models": {"talker": {}}}}
        settings = {"agent": "scripted", "agents": self.house.agents, "models": models}
        self.house.settings({**settings, "permissions": {"allow": ["tool:vscode__*"]}})
        return MODEL

    def sessions(self) -> list[Json]:
        listed: list[Json] = self.house.server.ask("ListSessions", {}).get("sessions", [])
        return [one for one in listed if not one.get("isNew")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    own = tmp_path_factory.mktemp("models")
    house = furnish(own / "home")
    file, extensions = own / "consumer", own / "extensions"
    environ = {**house.environ(), FILE_VARIABLE: str(file)}
    install(extensions, environ)
    install_consumer(extensions, environ)
    server = CodeServer(own / "vscode", extensions, environ, settings={"chat.disableAIFeatures": False})
    server.start()
    yield Place(house, server, Consumer(file))
    server.end()
    house.run("stop")
    house.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def window(profile: BrowserContext, place: Place) -> AsyncIterator[Workbench]:
    """A window in which Portico is in use; what was listed before that is kept."""
    window = Workbench(await profile.new_page())
    await window.open(place.server.address, place.house.workspace)
    place.listed_at_first = await aside(place.consumer.models)
    place.was_started = place.house.server.record_file.exists()
    await window.open_chat()
    await aside(wait_until, lambda: {AGENT, MODEL} <= place.consumer.models().keys(), "a list of models")
    yield window
    await window.close()


async def aside(act: Callable[..., Any], *words: Any, **more: Any) -> Any:
    """A wait for an answer must not block the loop that gives it."""
    return await asyncio.to_thread(act, *words, **more)


def text_of(parts: list[Json]) -> str:
    assert not any("failed" in part for part in parts), parts
    return "".join(part.get("text", "") for part in parts)


async def test_models_are_listed_once_somebody_has_used_portico_and_not_by_starting_it(
    window: Workbench, place: Place
) -> None:
    assert place.listed_at_first == {}
    assert not place.was_started
    listed = await aside(place.consumer.models)
    assert listed[AGENT]["name"] == "Portico: Scripted"
    assert listed[MODEL]["name"] == "talker"
    assert "agent:missing" not in listed


async def test_an_agent_answers_another_extension_and_goes_on_in_its_session(
    window: Workbench, place: Place
) -> None:
    def ask(*messages: Json) -> list[Json]:
        return list(place.consumer.ask(AGENT, *messages))

    steps = json.dumps([{"think": "Which boat?"}, say("The red one.")])
    parts = await aside(ask, user(steps))
    assert text_of(parts) == "The red one."
    assert any("Which boat?" in part.get("thinking", "") for part in parts)
    first, again = json.dumps([say("And then?")]), [assistant("The red one."), user("say The blue one.")]
    before = len(place.sessions())
    parts = await aside(ask, user(steps), *again)
    assert text_of(parts) == "The blue one."
    assert len(place.sessions()) == before
    assert text_of(await aside(ask, user(first))) == "And then?"
    assert len(place.sessions()) == before + 1
    assert place.sessions()[0]["workspace"] == str(place.house.workspace)


async def test_a_request_that_is_cancelled_stops_the_turn_of_the_agent(
    window: Workbench, place: Place
) -> None:
    def is_over() -> bool:
        return bool(place.sessions()[0]["state"] == "TURN_STATE_CANCELED")

    parts = place.consumer.ask(AGENT, user(json.dumps([say("Begun."), *wish("make", "make")])))
    assert await aside(next, parts) == {"text": "Begun."}
    await aside(parts.close)
    await aside(wait_until, is_over, "the end of the turn")


async def test_a_model_has_vs_code_run_its_tools(window: Workbench, place: Place) -> None:
    script = (Answer(Say("I look."), Call("weather", '{"place": "Oslo"}')), Answer(Say("It rains.")))
    async with ModelEndpoint(*script) as endpoint:
        model = place.use(f"{endpoint.address}/v1")
        question = user("How is the weather in Oslo?")
        parts = await aside(lambda: list(place.consumer.ask(model, question, tools=[WEATHER])))
        assert text_of(parts) == "I look."
        (call,) = [part["call"] for part in parts if "call" in part]
        assert (call["name"], call["input"]) == ("weather", {"place": "Oslo"})
        result = user({"result": {"callId": call["callId"], "text": "rain"}})
        history = (question, assistant("I look.", {"call": call}), result)
        parts = await aside(lambda: list(place.consumer.ask(model, *history, tools=[WEATHER])))
    assert text_of(parts) == "It rains."
    first, second = (one.body for one in endpoint.requests)
    assert first["tools"][0]["function"]["name"] == "weather"
    (answered,) = [one for one in second["messages"] if one["role"] == "tool"]
    assert "rain" in json.dumps(answered)


async def test_an_agent_calls_two_tools_of_a_request_at_once_and_gets_each_result(
    window: Workbench, place: Place
) -> None:
    places = [{"name": "weather", "arguments": {"place": place}} for place in ("Oslo", "Rome")]
    steps = [say("I look."), {"use_tools": {"server": "vscode", "calls": places}}, say("Take a coat.")]
    question = user(json.dumps(steps), {"image": PIXEL})
    parts = await aside(lambda: list(place.consumer.ask(AGENT, question, tools=[WEATHER])))
    assert text_of(parts) == "I look."
    calls = [part["call"] for part in parts if "call" in part]
    assert [call["input"] for call in calls] == [{"place": "Oslo"}, {"place": "Rome"}]
    results = [
        {"result": {"callId": call["callId"], "text": f"Weather of {call['input']['place']}. "}}
        for call in reversed(calls)
    ]
    said = assistant("I look.", *({"call": call} for call in calls))
    parts = await aside(
        lambda: list(place.consumer.ask(AGENT, question, said, user(*results), tools=[WEATHER]))
    )
    assert text_of(parts) == "Weather of Oslo. \nWeather of Rome. Take a coat."
    session = place.sessions()[0]["sessionId"]
    timeline = json.dumps(place.house.server.ask("GetTimeline", {"sessionId": session}))
    assert "image/png" in timeline
    assert "tool:vscode__*" in timeline


async def test_a_tool_of_another_extension_reaches_an_agent(window: Workbench, place: Place) -> None:
    tool = {"server": "vscode", "name": "consumer_join", "arguments": {"words": ["mast", "sail"]}}
    steps = json.dumps([{"use_tool": tool}])
    parts = await aside(lambda: list(place.consumer.ask(AGENT, user(steps))))
    assert text_of(parts) == "mast-sail"


async def test_a_request_that_is_cancelled_is_taken_back_from_the_model(
    window: Workbench, place: Place
) -> None:
    async with SlowModel("Once upon") as slow:
        parts = place.consumer.ask(place.use(slow.address), user("Tell me"))
        assert await aside(next, parts) == {"text": "Once upon"}
        await aside(parts.close)
        async with asyncio.timeout(60):
            await slow.left.wait()


async def test_what_goes_wrong_at_a_model_is_told_to_whoever_asked(window: Workbench, place: Place) -> None:
    async with ModelEndpoint(Refuse(400, "that makes no sense")) as endpoint:
        model = place.use(f"{endpoint.address}/v1")
        parts = await aside(lambda: list(place.consumer.ask(model, user("Hello"))))
    assert "that makes no sense" in parts[-1]["failed"]


async def test_portico_answers_in_the_chat_of_vs_code_and_its_session_opens(
    window: Workbench, place: Place
) -> None:
    chat = window.page.locator(".interactive-session").last
    field = chat.get_by_role("textbox", name=re.compile("^Chat Input"))

    async def ask(words: str) -> None:
        async def attempt() -> None:
            await field.focus(timeout=ATTEMPT_MS)
            await window.page.keyboard.press("Control+a")
            await window.page.keyboard.type(f"@portico {words}")
            await expect(chat.locator(".view-lines").last).to_contain_text(words, timeout=ATTEMPT_MS)

        await persist(attempt)
        await window.page.keyboard.press("Enter")

    await window.command("Chat: Open Chat")
    await expect(chat.get_by_role("button", name=re.compile("^Models, Portico: "))).to_be_visible()
    answers = chat.locator(".interactive-response")
    await ask("say The mast is up.")
    await expect(answers.last).to_contain_text("The mast is up.")
    await ask("say The sail too.")
    await expect(answers.last).to_contain_text("The sail too.")
    await window.page.screenshot(path=OUTPUT / "participant.png")
    await answers.last.get_by_role("button", name="Open in Portico").click()
    opened = window.chat()
    await expect(opened.answers).to_have_count(2)
    await expect(opened.answers.last).to_contain_text("The sail too.")
