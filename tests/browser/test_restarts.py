"""Bad days of a connection in the middle of a turn. In the end the page shows exactly the log, each event once."""

import json

import pytest
from playwright.async_api import CDPSession, expect

from portico.testing import stream_numbers
from tests.browser.chat import Chat, say
from tests.browser.conftest import Open
from tests.browser.user_environment import House
from tests.support.stream import Json
from tests.support.waiting import eventually, wait_until

pytestmark = pytest.mark.asyncio(loop_scope="session")

KILLS = 4
DELTAS = 400
# High enough for all of it: rows that are out of sight are not on the page.
WINDOW = {"width": 600, "height": 9_000}
OFFLINE: Json = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
ONLINE: Json = {**OFFLINE, "offline": False}
SLOW: Json = {**ONLINE, "downloadThroughput": 2_000}
A_NIGHT = "08:00:00"
MUCH, LITTLE = 40_000_000, 20_000_000


def stream(first: int, count: int = DELTAS, **more: object) -> Json:
    return {"stream": {"count": count, "size": 20, "first": first, **more}}


async def test_the_server_dies_again_and_again_while_an_answer_streams_and_the_page_ends_with_the_log(
    own_house: House, open_page: Open
) -> None:
    chat = await open_page(own_house.open(), viewport={**WINDOW, "height": 2 * WINDOW["height"]})
    session_id = await chat.session_id()
    # Every life of the server streams a part of its own, and is killed in the middle of it, some time after
    # its beginning is seen: slowly enough that all of it fits into the window, however late that is.
    lives = [stream(1 + life * 10_000, 5_000, delay_ms=10) for life in range(KILLS)]
    marks = [{"once": {"mark": f"life-{life}", "steps": [part]}} for life, part in enumerate(lives)]
    await chat.ask(*marks, say("The end."))
    for life in range(KILLS):
        await expect(chat.answers.last).to_contain_text(f"{life * 10_000 + 60:05d}:")
        own_house.kill()
        own_house.open()
        await chat.card("Interrupted turn").get_by_role("button", name="Retry").click()
    await expect(chat.answers.last).to_contain_text("The end.")
    await chat.rested()
    assert await shown(chat) == logged(own_house, session_id)
    fresh = await open_page(own_house.server.url, beside=chat)
    await expect(fresh.answers.last).to_contain_text("The end.")
    await expect(fresh.prompts).to_have_count(KILLS + 1)
    assert await shown(fresh) == await shown(chat)


async def test_a_laptop_that_slept_through_a_stream_shows_each_event_once(
    own_house: House, open_page: Open
) -> None:
    chat = await open_page(own_house.open(), viewport=WINDOW)
    session_id = await chat.session_id()
    asleep, awake = (own_house.workspace / name for name in ("asleep", "awake"))
    network = await network_of(chat)
    await chat.page.clock.install()
    await chat.page.reload()
    await chat.ask(
        stream(1),
        {"wait_file": str(asleep)},
        stream(DELTAS + 1),
        {"wait_file": str(awake)},
        stream(2 * DELTAS + 1),
    )
    await expect(chat.answers).to_contain_text(f"{DELTAS:05d}:")
    await network.send("Network.emulateNetworkConditions", OFFLINE)
    await chat.page.clock.fast_forward(A_NIGHT)
    await expect(chat.page.get_by_text("Reconnecting…")).to_be_visible()
    asleep.touch()
    said(own_house, session_id, f"{2 * DELTAS:05d}:")
    assert f"{DELTAS + 1:05d}:" not in await chat.answers.inner_text()
    await network.send("Network.emulateNetworkConditions", ONLINE)
    await expect(chat.answers).to_contain_text(f"{2 * DELTAS:05d}:")
    awake.touch()
    await expect(chat.answers).to_contain_text(f"{3 * DELTAS:05d}:")
    await chat.rested()
    await check(chat, own_house, 3 * DELTAS)


async def test_a_tab_that_was_hidden_during_a_stream_comes_back_to_each_event_once(
    house: House, chat: Chat
) -> None:
    await chat.page.set_viewport_size({"width": 600, "height": 9_000})
    session_id = await chat.session_id()
    go = house.workspace / "go-on-hidden"
    await chat.ask(stream(1), {"wait_file": str(go)}, stream(DELTAS + 1))
    await expect(chat.answers).to_contain_text(f"{DELTAS:05d}:")
    await see(chat, "hidden")
    go.touch()
    said(house, session_id, f"{2 * DELTAS:05d}:")
    assert f"{DELTAS + 1:05d}:" not in await chat.answers.inner_text()
    await see(chat, "visible")
    await expect(chat.answers).to_contain_text(f"{2 * DELTAS:05d}:")
    await chat.rested()
    await check(chat, house, 2 * DELTAS)


async def test_a_page_that_reads_slowly_costs_the_server_no_memory(own_house: House, open_page: Open) -> None:
    chat = await open_page(own_house.open())
    session_id = await chat.session_id()
    much = [{"stream": {"count": MUCH // 4_000, "size": 4_000}}, say("The end.")]
    # Once for a program that reads it all: after that the server has the memory that such a turn takes.
    own_house.talk(own_house.start_session(), json.dumps(much))
    before = own_house.server.process.memory_info().rss
    network = await network_of(chat)
    await network.send("Network.emulateNetworkConditions", SLOW)
    await chat.ask(*much)
    ended(own_house, session_id)
    assert own_house.server.process.memory_info().rss - before < LITTLE


async def check(chat: Chat, house: House, last: int) -> None:
    """The page has the whole stream, and what it has is the log."""
    whole = list(range(1, last + 1))
    words = await eventually(lambda: shown(chat), lambda found: stream_numbers(found[-1] + " ") == whole)
    assert words == logged(house, await chat.session_id())


def ended(house: House, session_id: str) -> None:
    state = "TURN_STATE_COMPLETED"
    wait_until(
        lambda: house.session(session_id)["summary"]["state"] == state, "the end of the turn", seconds=60
    )


async def network_of(chat: Chat) -> CDPSession:
    network = await chat.page.context.new_cdp_session(chat.page)
    await network.send("Network.enable")
    return network


async def see(chat: Chat, state: str) -> None:
    """Hide the tab, or bring it back. Without windows there is nothing that would cover it."""
    await chat.page.evaluate(
        """state => {
          Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
          Object.defineProperty(document, "hidden", { configurable: true, get: () => state === "hidden" });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        state,
    )


def said(house: House, session_id: str, words: str) -> None:
    """Until something stands in the log."""
    wait_until(lambda: words in logged(house, session_id)[-1], words, seconds=60)


def logged(house: House, session_id: str) -> list[str]:
    """Prompts and answers in the log, each exactly once."""
    request = {"sessionId": session_id, "format": "EXPORT_FORMAT_JSON"}
    events = json.loads(house.server.ask("ExportSession", request)["content"])["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    found: list[str] = []
    answering = False
    for event in events:
        if event["type"] == "text_delta" and answering:
            found[-1] += event["payload"]["text"]
        elif event["type"] in ("text_delta", "prompt_submitted"):
            found.append(event["payload"]["text"])
        answering = event["type"] == "text_delta" or (answering and event["type"] == "usage_updated")
    return [" ".join(one.split()) for one in found]


async def shown(chat: Chat) -> list[str]:
    """The same, as the page has it."""
    # An answer whose beginning was loaded later shows its end alone until all of it is ready.
    await expect(chat.log.locator(".p-preparing")).to_have_count(0)
    words = chat.log.locator(".p-prompt-words, .p-answer")
    return [" ".join(one.split()) for one in await words.all_inner_texts()]
