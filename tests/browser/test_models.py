"""Free text to Porter on the page: the offline model answers, and a model that fails is told on a card."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Open, Shoot
from tests.browser.user_environment import House
from tests.support.model_endpoint import BAD_KEY, OVERLOADED, Answer, ModelEndpoint, Refuse, Reply, Say
from tests.support.offline import have_offline_model

pytestmark = pytest.mark.asyncio(loop_scope="session")

AT_ONCE = {"retry-after": "0"}
BUSY = Refuse(529, OVERLOADED.message, OVERLOADED.type, headers=AT_ONCE)


@pytest.fixture
def offline_house(own_house: House) -> House:
    have_offline_model(own_house.environ())
    return own_house


async def test_without_any_key_free_text_is_answered_and_the_page_says_once_that_the_model_is_tiny(
    offline_house: House, open_page: Open, shoot: Shoot
) -> None:
    chat = await open_page(await asyncio.to_thread(offline_house.open))
    await chat.new_session("Porter")
    await chat.ask("Say hello to the crew.")
    tiny = chat.log.get_by_text(re.compile("tiny model on this machine"))
    await expect(tiny).to_be_visible()
    await expect(tiny).to_contain_text("Connect a model")
    await expect(chat.answers.first).to_have_text(re.compile(r"\w{2,}"))
    await expect(chat.composer.get_by_role("combobox", name=re.compile("Model"))).to_contain_text("smollm2")
    await shoot(chat, "offline", night=True)
    await chat.ask("And once more.")
    await expect(chat.answers).to_have_count(2)
    await expect(tiny).to_have_count(1)


@pytest.mark.parametrize(
    ("reply", "title"),
    [(BUSY, "The model is busy"), (BAD_KEY, "The agent needs you to sign in")],
)
async def test_a_model_that_fails_has_a_card_and_can_be_tried_again(
    own_house: House, open_page: Open, shoot: Shoot, reply: Reply, title: str
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: reply
        around = {
            "PORTICO_MODEL": "anthropic:claude-sonnet-5-5",
            "ANTHROPIC_API_KEY": "a-key",
            "ANTHROPIC_BASE_URL": endpoint.address,
        }
        chat: Chat = await open_page(await asyncio.to_thread(own_house.open, environ=around))
        await chat.new_session("Porter")
        await chat.ask("Say hello to the crew.")
        card = chat.card(f"Error: {title}")
        await expect(card).to_be_visible()
        await shoot(chat, f"model-{title.rsplit(maxsplit=1)[-1]}", widths=(480,))
        endpoint.answer = lambda _: Answer(Say("Ahoy."))
        await card.get_by_role("button", name="Retry").click()
        await expect(chat.answers).to_have_text("Ahoy.")


async def test_a_newcomer_connects_a_model_on_the_page_and_porter_answers_with_it(
    own_house: House, open_page: Open, shoot: Shoot
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: BAD_KEY
        around = {"ANTHROPIC_BASE_URL": endpoint.address}
        (own_house.workspace / "boats.py").write_text("def launch(boat):\n    return boat\n")
        chat: Chat = await open_page(await asyncio.to_thread(own_house.open, environ=around))
        await chat.new_session("Porter")
        await expect(chat.log.get_by_role("button", name="Use Scripted")).to_be_visible()
        await chat.tell("/help")
        offer = chat.log.get_by_role("button", name="Connect a model")
        await expect(offer).to_have_count(0)
        await chat.tell("What is this folder about?")
        await expect(chat.answers.last).to_contain_text("No model is connected to me yet")
        await chat.tell("Explain line 1 of @boats.py:\n\n```python\ndef launch(boat):\n```")
        await expect(chat.answers.last).to_contain_text("function in boats.py:1")
        await shoot(chat, "no-model", widths=(360, 1280), night=True)
        coder = chat.page.get_by_role("dialog", name="Connect a model")
        await chat.log.get_by_role("button", name="Get the offline coder").click()
        await expect(coder.get_by_role("button", name=re.compile("^Download"))).to_be_focused()
        await chat.page.keyboard.press("Escape")
        await offer.click()
        dialog = chat.page.get_by_role("dialog", name="Connect a model")
        await expect(dialog.get_by_label("Provider")).to_be_focused()
        key = dialog.get_by_role("textbox", name="Key")
        connect = dialog.get_by_role("button", name="Connect", exact=True)
        await expect(connect).to_be_disabled()
        await shoot(chat, "connect-model", widths=(300, 1100), night=True)

        await key.fill("a-wrong-key")
        await connect.click()
        await expect(dialog.get_by_role("alert")).to_contain_text("key")
        await expect(dialog.get_by_text("Porter uses no model yet.")).to_be_visible()
        await expect(dialog.get_by_role("button", name="Delete key")).to_have_count(0)

        endpoint.answer = lambda _: Answer(Say("Ahoy."))
        await key.fill("a-good-key")
        await connect.click()
        await expect(dialog.get_by_text("works. Porter uses it from now on.")).to_be_visible()
        assert endpoint.requests[-1].key == "a-good-key"
        await expect(dialog.get_by_role("button", name="Delete key")).to_be_visible()
        await dialog.get_by_role("button", name="Close").click()

        model = chat.composer.get_by_role("combobox", name=re.compile("^Model: Default .anthropic:"))
        await expect(model).to_be_visible()
        await chat.tell("Say hello to the crew.")
        await expect(chat.answers.last).to_have_text("Ahoy.")
        await expect(offer).to_have_count(0)
        await chat.new_session()
        await chat.new_session("Porter")
        await expect(model).to_be_visible()
        await expect(offer).to_have_count(0)


async def test_a_server_of_ones_own_is_found_tried_and_connected_and_an_expired_key_is_deleted(
    own_house: House, open_page: Open, shoot: Shoot
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: Answer(Say("Ahoy."))
        around = {"OLLAMA_BASE_URL": f"{endpoint.address}/v1"}
        chat: Chat = await open_page(await asyncio.to_thread(own_house.open, environ=around))
        await chat.new_session("Porter")
        await chat.log.get_by_role("button", name="Connect a model").click()
        dialog = chat.page.get_by_role("dialog", name="Connect a model")
        await dialog.get_by_role("button", name="Use Ollama").click()
        await expect(dialog.get_by_label("Address")).to_have_value(f"{endpoint.address}/v1")
        await expect(dialog.get_by_label("Model", exact=True)).to_have_value("scripted")
        await shoot(chat, "connect-server", widths=(300, 1100), night=True)

        endpoint.key = "a-good-key"
        connect = dialog.get_by_role("button", name="Connect", exact=True)
        await connect.click()
        await expect(dialog.get_by_role("alert")).to_contain_text("needs a key")
        key = dialog.get_by_role("textbox", name="Key")
        await key.fill("a-wrong-key")
        await connect.click()
        await expect(dialog.get_by_role("alert")).to_contain_text("rejected the key")
        await key.fill("a-good-key")
        await connect.click()
        await expect(dialog.get_by_text("works. Porter uses it from now on.")).to_be_visible()
        await dialog.get_by_role("button", name="Close").click()
        await chat.tell("Say hello to the crew.")
        await expect(chat.answers.last).to_have_text("Ahoy.")

        endpoint.key = "a-newer-key"
        await chat.ask("And once more.")
        card = chat.card("Error: The agent needs you to sign in")
        await expect(card.get_by_role("status")).to_contain_text("so it has been deleted")
        await shoot(chat, "expired-key", widths=(480,))
        await card.get_by_role("button", name="Connect with a key").click()
        await card.get_by_label("Key", exact=True).fill("a-wrong-key")
        await card.get_by_role("button", name="Save key").click()
        await expect(card.get_by_role("alert")).to_contain_text("It was not saved.")
        await card.get_by_label("Key", exact=True).fill("a-newer-key")
        await card.get_by_role("button", name="Save key").click()
        await expect(card.get_by_text(re.compile("can use it"))).to_be_visible()
        await card.get_by_role("button", name="Retry").click()
        await expect(chat.answers.last).to_have_text("Ahoy.")


async def test_the_page_offers_a_coder_and_says_why_its_download_failed(
    own_house: House, open_page: Open, shoot: Shoot
) -> None:
    around = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": ""}
    chat = await open_page(await asyncio.to_thread(own_house.open, environ=around))
    await chat.new_session("Porter")
    await chat.log.get_by_role("button", name="Connect a model").click()
    dialog = chat.page.get_by_role("dialog", name="Connect a model")
    offer = dialog.get_by_role("region", name="Qwen2.5 Coder 1.5B")
    await expect(offer).to_contain_text("without a key and without a network")
    await expect(offer).to_contain_text("fixes a small bug")
    await expect(offer).to_contain_text("no match for a large model")
    await expect(offer).to_contain_text("licence Apache-2.0")
    await shoot(chat, "download-offer", widths=(300, 1100), night=True)
    await offer.get_by_role("button", name="Download 1,066 MiB").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("could not be downloaded")
    await expect(dialog.get_by_role("alert")).to_contain_text("try again")
    await expect(offer.get_by_role("button", name="Download 1,066 MiB")).to_be_enabled()


async def test_the_list_of_models_leads_to_more_of_them_and_a_key_can_be_taken_away(
    own_house: House, open_page: Open
) -> None:
    around = {"GROQ_API_KEY": "a-key"}
    chat = await open_page(await asyncio.to_thread(own_house.open, environ=around))
    await chat.new_session("Porter")
    await chat.choose(re.compile("^Model"), "Connect a model…")
    dialog = chat.page.get_by_role("dialog", name="Connect a model")
    await dialog.get_by_label("Provider").select_option("Groq ✓")
    await expect(dialog.get_by_text("A key is stored")).to_be_visible()
    await dialog.get_by_role("button", name="Delete key").click()
    await expect(dialog.get_by_text("GROQ_API_KEY deleted.")).to_be_visible()
    await expect(dialog.get_by_label("Provider").locator("option", has_text="Groq")).to_have_text("Groq")
    await dialog.get_by_label("Provider").select_option("a model on this machine")
    await expect(dialog.get_by_text("download one with: portico models pull qwen2.5-coder")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Connect", exact=True)).to_have_count(0)
