"""The chat page for tests: its parts, found by the names that a screen reader would read."""

import json
import re

from playwright.async_api import FrameLocator, Locator, Page, expect

from tests.support.stream import Json
from tests.support.waiting import eventually

Steps = list[Json]


class Chat:
    """One page of a browser, or a frame `inside` of it, with the session that is in front."""

    def __init__(self, page: Page, inside: FrameLocator | None = None) -> None:
        self.page = page
        self._place = place = inside or page
        self.prompt = place.get_by_role("textbox", name=re.compile("^Prompt"))
        self.log = place.get_by_role("log", name="Conversation")
        self.answers = self.log.get_by_role("article", name="Answer")
        self.prompts = self.log.get_by_role("article", name="You asked")
        self.tabs = place.get_by_role("tablist", name="Sessions").get_by_role("tab")
        self.composer = place.get_by_role("region", name="Composer")
        self.history = place.get_by_role("region", name="History")
        self.send_button = self.button("Send")
        self.stop_button = self.button("Stop")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self._place.get_by_role("button", name=name, exact=isinstance(name, str))

    def fold(self, words: str) -> Locator:
        """The line of a tool call, a thought or a plan, which opens."""
        return self.log.get_by_role("button", name=re.compile(words))

    def seen(self, words: str | re.Pattern[str]) -> Locator:
        """Words of the conversation that are not the person's own."""
        return self.log.locator(".p-row:not(.p-row-prompt)").get_by_text(words)

    def card(self, name: str | re.Pattern[str]) -> Locator:
        return self.log.get_by_role("group", name=name)

    def tab(self, name: str | re.Pattern[str]) -> Locator:
        return self._place.get_by_role("tab", name=name)

    async def ready(self) -> None:
        """Wait until an agent is ready."""
        await expect(self.prompt).to_be_editable()

    async def ask(self, *steps: Json | str) -> None:
        """Send a prompt: words, or what the scripted agent is to do."""
        await self.ready()
        words = steps[0] if len(steps) == 1 and isinstance(steps[0], str) else json.dumps(steps)
        await self.prompt.fill(str(words))
        await self.prompt.press("Enter")

    async def painted(self) -> None:
        """Until the page has shown what the last key did, as a person sees it before going elsewhere."""
        await self.log.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    async def tell(self, *steps: Json | str) -> None:
        """Send a prompt and wait for the end of its turn."""
        before = await self._newest()
        await self.ask(*steps)
        # The prompt itself may never be on the page: a long answer that comes at once leaves no room for it.
        await eventually(self._newest, lambda found: found != before)
        await self.rested()

    async def _newest(self) -> tuple[int, str | None]:
        last = await self.log.locator(".p-row").evaluate_all("rows => rows.at(-1)?.dataset.key ?? null")
        return await self.prompts.count(), last

    async def rested(self) -> None:
        """Until no turn is under way."""
        await expect(self.send_button).to_be_visible()

    async def new_session(self, agent: str = "") -> None:
        """A session in a tab of its own; with an agent, by the picker of the composer."""
        count = await self.tabs.count()
        if agent == "":
            await self.button("New session").first.click()
        else:
            await self.choose(re.compile("^Agent"), agent)
        await expect(self.tabs).to_have_count(count + 1)
        await self.ready()

    async def show_history(self) -> None:
        """In a wide window it is there already."""
        button = self.button("History")
        if await button.get_attribute("aria-expanded") != "true":
            await button.click()
        await expect(self.history).to_be_visible()

    async def narrow(self) -> None:
        """Make the window so narrow that the history comes only when it is called."""
        await self.page.set_viewport_size({"width": 800, "height": 760})
        await expect(self.history).to_have_count(0)

    async def do(self, deed: str, title: str) -> None:
        """One of the deeds that an entry of the history offers when it is pointed at."""
        named = re.escape(title).replace("/", ".")  # A slash ends the pattern of a selector.
        await self.history.get_by_role("button", name=re.compile(f"^{named}")).first.hover()
        await self.history.get_by_role("button", name=re.compile(f"^{deed} {named}")).first.click()

    async def choose(self, picker: str | re.Pattern[str], choice: str) -> None:
        await self.composer.get_by_role("combobox", name=picker).click()
        wanted = re.compile(f"^{re.escape(choice)}", re.IGNORECASE)
        await self._place.get_by_role("option", name=wanted).click()

    async def session_id(self) -> str:
        """Of the session in front."""
        name = await self.tabs.and_(self.page.locator("[aria-selected=true]")).get_attribute("id")
        assert name is not None
        return name.removeprefix("tab-")

    async def fits(self) -> None:
        """Until the page is no wider than its window."""
        await self.page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")

    async def log_fits(self) -> None:
        """Until the conversation is no wider than its place."""
        beyond = "one => one.scrollWidth - one.clientWidth"
        await eventually(lambda: self.log.evaluate(beyond), lambda pixels: pixels <= 0)


def say(text: str) -> Json:
    return {"say": text}


def named(title: str) -> Json:
    """Gives the session a name, so that it can be told from others in a list."""
    return {"title": title}
