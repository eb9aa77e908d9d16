"""One window of VS Code, as a person has it before them. Every step waits until VS Code itself shows its effect."""

import re
from pathlib import Path

from playwright.async_api import FrameLocator, Locator, Page, expect

from tests.browser.chat import Chat
from tests.support.stream import Json
from tests.vscode.editor import CLOSE_EDITORS, NEW_SESSION
from tests.vscode.retry import ATTEMPT_MS, PATIENCE, persist

# A window comes with some megabytes of script, and a machine may have other things to do.
OPEN_MS = PATIENCE * 1_000
SELECTED = re.compile(r"\(\d+ selected\)")

# Entries of a list that may stand before the one that is meant.
MOST_BEFORE = 5


class Workbench:
    """One window."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.status_bar = page.locator(".statusbar")
        self.editor = page.locator(".editor-group-container.active .editor-instance")
        self.picker = page.locator(".quick-input-widget")
        self.field = self.picker.locator("input:visible").first
        self.dialog = page.locator(".monaco-dialog-box")

    async def open(self, address: str, place: Path) -> None:
        """A folder, or a file that names several."""
        kind = "workspace" if place.suffix == ".code-workspace" else "folder"
        await self.page.goto(f"{address}/?{kind}={place}")
        await self.loaded()

    async def loaded(self) -> None:
        await expect(self.page.locator(".monaco-workbench")).to_be_visible(timeout=OPEN_MS)
        await expect(self._icon("Portico")).to_be_visible(timeout=OPEN_MS)

    async def reload(self) -> None:
        """By VS Code's own command, which lets everything be kept that wants to be."""
        async with self.page.expect_event("load", timeout=OPEN_MS):
            await self.command("Developer: Reload Window")
        await self.loaded()

    async def close(self) -> None:
        """As a person closes a tab of the browser: the window says goodbye, and its extensions end."""
        if not self.page.is_closed():
            await self.page.goto("about:blank")
            await self.page.close()

    async def open_chat(self) -> Chat:
        await self.show()
        chat = self.chat()
        await expect(chat.prompt).to_be_editable(timeout=OPEN_MS)
        return chat

    async def show(self) -> None:
        """Portico's side bar, by the icon in the activity bar, as a person would."""
        await self._turn_to("Portico")

    async def leave_chat(self) -> None:
        """Look at the files instead."""
        await self._turn_to("Explorer")
        await expect(self.page.get_by_role("tree", name="Files Explorer")).to_be_visible()

    def chat(self) -> Chat:
        """The one in sight, or that will be: in the side bar or in an editor tab, not in both."""
        return Chat(self.page, self.chat_frame)

    @property
    def chat_frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe.webview.ready:visible").frame_locator("#active-frame")

    async def command(self, title: str) -> None:
        """Run a command by its name, as soon as it is offered."""
        await self._choose(f">{title}", title)

    async def open_file(self, name: str) -> None:
        """By its name, as with Go to File."""

        async def attempt() -> None:
            await self._choose(name, Path(name).name)
            tab = self.page.locator(".editor-group-container.active .tab.active")
            await expect(tab.get_by_text(Path(name).name, exact=True)).to_be_visible(timeout=ATTEMPT_MS)
            await expect(self.editor.locator(".view-line").first).to_be_visible(timeout=ATTEMPT_MS)

        await persist(attempt)

    async def select_all(self) -> None:
        """The whole text of the editor in front, until VS Code counts what is selected."""

        async def attempt() -> None:
            await self.editor.locator(".view-lines").first.click(timeout=ATTEMPT_MS)
            await self.page.keyboard.press("Control+a")
            await expect(self.status_bar.get_by_text(SELECTED)).to_be_visible(timeout=ATTEMPT_MS)

        await persist(attempt)

    async def open_code_actions(self, wanted: Locator) -> None:
        """Offers of the light bulb at the beginning of the text, until the wanted one is there."""

        async def attempt() -> None:
            await self.editor.locator(".view-line").first.click(timeout=ATTEMPT_MS)
            await self.page.keyboard.press("Control+.")
            await expect(wanted).to_be_visible(timeout=ATTEMPT_MS)

        await persist(attempt)

    async def pick(self, label: str) -> None:
        """From the list that a command has opened."""
        # The name of its icon comes first.
        name = re.compile(rf"^([a-z-]+ +)?{re.escape(label)}(,|$)")
        await self.picker.get_by_role("option", name=name).click()

    async def type(self, words: str, *, title: str = "") -> None:
        """Into the field of that title, which a command has opened."""
        await expect(self.picker.locator(".quick-input-titlebar")).to_contain_text(title)
        await self.field.fill(words)

        async def attempt() -> None:
            if await self.picker.is_visible():
                await self.field.press("Enter", timeout=ATTEMPT_MS)
            await expect(self.picker).to_be_hidden(timeout=ATTEMPT_MS)

        await persist(attempt)

    async def confirm(self, question: str, button: str) -> None:
        """Answer what VS Code asks before anything else may be done."""
        await expect(self.dialog).to_contain_text(question)
        await self.dialog.get_by_role("button", name=button, exact=True).click()
        await expect(self.dialog).to_have_count(0)

    async def propose(self, *steps: Json) -> Chat:
        """Have nothing written in the session in front before the person wants it, and a proposal made in it."""
        chat = self.chat()
        await self.knows_session()
        await self.command("Portico: Switch Review Mode")
        await self.pick("Proposal")
        await expect(chat.composer.get_by_role("combobox", name=re.compile("Proposal"))).to_be_visible()
        await chat.tell(*steps)
        return chat

    async def session_id(self) -> str:
        """Of the session in front of the chat."""
        tab = await self.chat_frame.get_by_role("tab", selected=True).get_attribute("id")
        return str(tab).removeprefix("tab-")

    async def knows_session(self) -> None:
        """Until the status bar tells with whom one talks: commands about a session are offered from then on."""
        await expect(self.status_bar.get_by_text("scripted · Small")).to_be_visible()

    def notification(self, words: str) -> Locator:
        return self.page.locator(".notification-list-item:visible").filter(has_text=words)

    async def told(self, words: str) -> Locator:
        """A notification. One that has hidden itself meanwhile is in the list behind the bell."""
        notification = self.notification(words)

        async def attempt() -> None:
            if not await notification.count():
                await self._choose(">Notifications: Show Notifications", "Notifications: Show Notifications")
            await expect(notification).to_have_count(1, timeout=ATTEMPT_MS)

        await persist(attempt)
        return notification

    async def answer(self, words: str, button: str) -> None:
        """Press a button of a notification, or a link in it."""

        async def attempt() -> None:
            notification = await self.told(words)
            await notification.get_by_text(button, exact=True).click(timeout=ATTEMPT_MS)

        await persist(attempt)

    def entries(self, view: str) -> Locator:
        """The lines of a view of the side bar."""
        return self.page.get_by_role("tree", name=view, exact=True).get_by_role("treeitem")

    async def unfold(self, view: str) -> None:
        """Open a view of the side bar by its title."""
        title = self.page.locator(".pane-header").filter(has_text=view)

        async def attempt() -> None:
            if await title.get_attribute("aria-expanded") != "true":
                await title.click(timeout=ATTEMPT_MS)
            await expect(title).to_have_attribute("aria-expanded", "true", timeout=ATTEMPT_MS)

        await persist(attempt)

    async def fold(self, view: str) -> None:
        title = self.page.locator(".pane-header").filter(has_text=view)
        if await title.get_attribute("aria-expanded") == "true":
            await title.click()
        await expect(title).to_have_attribute("aria-expanded", "false")

    async def deed(self, entry: Locator, name: str) -> None:
        """One of the buttons that an entry of a view shows when it is pointed at."""

        async def attempt() -> None:
            await entry.hover(timeout=ATTEMPT_MS)
            await entry.get_by_role("button", name=name, exact=True).click(timeout=ATTEMPT_MS)

        await persist(attempt)

    async def open_entry(self, entry: Locator) -> None:
        """Show what is under an entry of a view."""

        async def attempt() -> None:
            if await entry.get_attribute("aria-expanded") != "true":
                await entry.click(timeout=ATTEMPT_MS)
            await expect(entry).to_have_attribute("aria-expanded", "true", timeout=ATTEMPT_MS)

        await persist(attempt)

    async def tidy(self) -> Chat:
        """As a person would leave it in the evening: nothing open but the chat, with a session of its own."""
        await self.page.keyboard.press("Escape")
        await self.close_editors()
        if not await self.status_bar.get_by_role("button", name="No Notifications").count():
            await self.command("Notifications: Clear All Notifications")
        await expect(self.page.locator(".notification-list-item:visible")).to_have_count(0)
        chat = await self.open_chat()
        for view in ("Sessions", "Todos", "Changes"):
            await self.fold(view)
        await chat.prompt.fill("")
        await self.begin_session(by_key=True)
        return chat

    async def close_editors(self) -> None:
        """All of them; what a test that failed has left unsaved is thrown away."""
        tabs = self.page.locator(".tabs-container .tab")
        # A terminal that has the focus may keep a key to itself; after that the command is used.
        ways = iter([lambda: self.page.keyboard.press(CLOSE_EDITORS)])

        async def attempt() -> None:
            if await self.dialog.is_visible():
                await self.dialog.get_by_role("button", name="Don't Save").click(timeout=ATTEMPT_MS)
            elif await tabs.count():
                await next(ways, lambda: self.command("View: Close All Editors"))()
            await expect(tabs).to_have_count(0, timeout=ATTEMPT_MS)

        await persist(attempt)

    async def begin_session(self, *, by_key: bool = False) -> None:
        """By the command, or by its key first, which is cheaper; until the page has it in front."""
        front = self.chat_frame.get_by_role("tab", selected=True)
        before = str(await front.get_attribute("id"))
        if not (by_key and await self._begins_by_key(front, before)):
            await self.command("Portico: New Session")
        await expect(front).not_to_have_id(before)
        await self.chat().ready()
        await expect(self.chat().prompt).not_to_have_attribute("placeholder", "Ask the agent")

    async def _begins_by_key(self, front: Locator, before: str) -> bool:
        """Whether another session came to the front: a busy window may swallow the key."""
        await self.page.keyboard.press(NEW_SESSION)
        try:
            await expect(front).not_to_have_id(before)
        except AssertionError:
            return False
        return True

    async def _choose(self, words: str, label: str) -> None:
        chosen = self.picker.locator(".monaco-list-row.focused")

        async def attempt() -> None:
            # A list that is open already does not learn what has come to be offered meanwhile.
            if await self.picker.is_visible():
                await self.page.keyboard.press("Escape")
                await expect(self.picker).to_be_hidden(timeout=ATTEMPT_MS)
            await self.page.keyboard.press("F1")
            await self.field.fill(words, timeout=ATTEMPT_MS)
            # In a window with several folders a file stands there with the name of its own.
            wanted = re.compile(rf"^{re.escape(label)}(,| \w+,|$)")
            offered = self.picker.get_by_role("option", name=wanted).first
            await expect(offered).to_be_visible(timeout=ATTEMPT_MS)
            # One that fits less well comes first if it was used before.
            for _ in range(MOST_BEFORE):
                if wanted.match(await chosen.get_attribute("aria-label", timeout=ATTEMPT_MS) or ""):
                    break
                await self.field.press("ArrowDown")
            await expect(chosen).to_have_attribute("aria-label", wanted, timeout=ATTEMPT_MS)

        await persist(attempt)
        await self.field.press("Enter")

    async def _turn_to(self, name: str) -> None:
        icon = self._icon(name)

        async def attempt() -> None:
            # A second click would close the side bar again.
            if await icon.get_attribute("aria-selected") != "true":
                await icon.click(timeout=ATTEMPT_MS)
            await expect(icon).to_have_attribute("aria-selected", "true", timeout=ATTEMPT_MS)

        await persist(attempt)

    def _icon(self, name: str) -> Locator:
        return self.page.locator(".activitybar").get_by_role("tab", name=name)
