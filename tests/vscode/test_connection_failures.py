"""Failures between a window and its server: broken connections, closed tabs, missing files."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from portico.testing import stream_numbers
from tests.browser.chat import say
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House
from tests.support.waiting import wait_for_file, wait_until
from tests.vscode.conftest import OUTPUT, Open
from tests.vscode.editor import CodeServer
from tests.vscode.retry import persist
from tests.vscode.workbench import OPEN_MS, Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

COUNT = 60
# A page has the way to its extension for itself, unless another script was there before.
LISTENING_IN = """
let given;
Object.defineProperty(globalThis, "acquireVsCodeApi", {
  configurable: true,
  get: () => given && (() => (globalThis.extension = given())),
  set: (value) => { given = value; },
});
"""
GARBAGE = """() => {
  const frame = (type, payload, id = 0) => ({ protocol: 1, frames: [{ protocol: 1, id, type, payload }] });
  const path = "/portico.v1.AgentService/GetServerInfo";
  const garbage = [
    null, 7, "ready", [], {}, { protocol: 1 }, { protocol: 2, frames: [] }, { protocol: 1, frames: [null] },
    frame("sink", null), frame("__proto__", {}), frame("call", null, 1e300), frame("cancel", null, -7),
    frame("call", null, 900001), frame("call", { path, headers: [], body: "no bytes" }, 900002),
    frame("call", { path: "/../etc", headers: [], body: new Uint8Array(1) }, 900003),
    frame("front", null), frame("front", { sessionId: 7 }), frame("open_file", null), frame("open_link", null),
    frame("open_link", { url: "javascript:alert(1)" }), frame("save", { fileName: 1, content: 2 }),
  ];
  for (const post of garbage) globalThis.extension.postMessage(post);
}"""


class Line:
    """The line between a browser and VS Code, which can be cut."""

    def __init__(self, port: int) -> None:
        self.address = ""
        self._port = port
        self._is_cut = False
        self._ends: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """At once, in the middle of any message; callers get no answer."""
        self._is_cut = True
        for end in self._ends:
            end.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def close(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        there, thither = await asyncio.open_connection("127.0.0.1", self._port)
        self._ends |= {writer, thither}
        await asyncio.gather(_pass_on(reader, thither), _pass_on(there, writer))
        self._ends -= {writer, thither}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while said := await reader.read(65_536):
            writer.write(said)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@pytest_asyncio.fixture(loop_scope="session")
async def line(code_server: CodeServer) -> AsyncIterator[Line]:
    line = Line(int(code_server.address.rsplit(":", 1)[1]))
    await line.open()
    yield line
    await line.close()


async def test_a_window_whose_line_breaks_in_the_middle_of_a_turn_shows_all_of_it_when_it_is_back(
    open_window: Open, code_server: CodeServer, line: Line, tmp_path: Path
) -> None:
    far = copy.copy(code_server)
    far.address = line.address
    window = await open_window(server=far)
    chat = await window.open_chat()
    session_id = await window.session_id()
    gone, streamed, back = (tmp_path / name for name in ("gone", "streamed", "back"))
    await chat.ask(
        say("Before. "),
        {"wait_file": str(gone)},
        {"stream": {"count": COUNT, "size": 8}},
        {"touch": str(streamed)},
        {"wait_file": str(back)},
        say("The end of it."),
    )
    await expect(chat.answers.last).to_contain_text("Before.")
    await chat.prompt.fill("half a sentence")
    line.cut()
    gone.touch()
    await asyncio.to_thread(wait_for_file, streamed)
    line.mend()
    back.touch()
    await expect(chat.answers.last).to_contain_text("The end of it.", timeout=OPEN_MS)
    assert list(stream_numbers(await chat.answers.last.inner_text())) == list(range(1, COUNT + 1))
    await expect(chat.answers).to_have_count(1)
    await expect(chat.prompts).to_have_count(1)
    await expect(chat.prompt).to_have_value("half a sentence")
    assert await window.session_id() == session_id
    await chat.rested()
    await chat.ask(say("And on it goes."))
    await expect(chat.answers.last).to_contain_text("And on it goes.")


async def crash(page: Page) -> None:
    """Unlike a tab that is closed, this one cannot say goodbye."""
    tools = await page.context.new_cdp_session(page)
    async with page.expect_event("crash"):
        dying = asyncio.create_task(tools.send("Page.crash"))
    # No process is left to answer.
    dying.cancel()
    await page.close()


async def test_a_browser_tab_that_dies_comes_back_with_the_session_that_was_in_front(
    open_window: Open, code_server: CodeServer, house: House
) -> None:
    window = await open_window()
    chat = await window.open_chat()
    await chat.tell(say("First."))
    # From here on VS Code has a state of the page that becomes old.
    await window.reload()
    await window.open_chat()
    await window.begin_session()
    session_id = await window.session_id()
    await chat.tell(say("Second."))
    again = Workbench(await window.page.context.new_page())
    # Unlike a person's click, this closes no connection properly.
    await window.page.close(run_before_unload=False)
    window.page = again.page
    await again.open(code_server.address, house.workspace)
    chat = await again.open_chat()
    await expect(chat.answers.last).to_contain_text("Second.", timeout=OPEN_MS)
    assert await again.session_id() == session_id


async def test_a_proposal_is_applied_by_the_window_that_is_left_when_a_tab_has_died(
    window: Workbench, open_window: Open, house: House
) -> None:
    file = house.workspace / "anchor.txt"
    file.write_text("rope\n")
    # Used last, it has the edits of its folder, and its end is not reported.
    dying = await open_window()
    await dying.open_chat()
    await crash(dying.page)
    await window.propose({"write": {"path": "anchor.txt", "content": "chain\n"}})

    async def apply() -> None:
        await window.command("Portico: Apply Proposal")
        # If the other was asked, it takes a while to notice that it is gone.
        await expect(window.notification("Portico: Changes applied.")).to_have_count(1, timeout=OPEN_MS)

    await persist(apply)
    assert file.read_text() == "chain\n"


async def test_a_browser_tab_that_is_reloaded_in_the_middle_of_a_turn_has_the_same_session_and_its_draft(
    window: Workbench, house: House
) -> None:
    await window.reload()
    chat = await window.open_chat()
    await window.begin_session()
    session_id = await window.session_id()
    await chat.ask(say("Before. "), *wish("make ready", "ready"))
    await expect(chat.card("Permission: Run make ready")).to_be_visible()
    await chat.prompt.fill("half a sentence")
    wait_until(lambda: house.session(session_id)["desk"].get("draft") == "half a sentence", "the draft")
    await window.page.reload()
    await window.loaded()
    await window.open_chat()
    await expect(chat.card("Permission: Run make ready")).to_be_visible()
    assert await window.session_id() == session_id
    await expect(chat.prompt).to_have_value("half a sentence")
    await chat.card("Permission: Run make ready").get_by_role("button", name="Allow", exact=True).click()
    await expect(chat.answers.last).to_contain_text("ready: ran")
    await expect(chat.log).to_contain_text("Before.")


async def test_frames_that_make_no_sense_are_told_in_the_log_once_and_the_chat_goes_on(
    open_window: Open, code_server: CodeServer
) -> None:
    window = await open_window()
    await window.page.add_init_script(LISTENING_IN)
    chat = await window.open_chat()
    before = complaints(code_server)
    await window.chat_frame.locator("body").evaluate(GARBAGE)
    await chat.tell(say("None of it matters."))
    await expect(chat.answers.last).to_contain_text("None of it matters.")
    wait_until(lambda: complaints(code_server) > before, "a word in the log")
    assert complaints(code_server) == before + 1
    await window.page.screenshot(path=OUTPUT / "garbage.png")
    await expect(window.page.locator(".notification-list-item:visible")).to_have_count(0)


async def test_a_file_that_is_deleted_under_a_proposal_is_named_and_nothing_is_half_written(
    window: Workbench, house: House
) -> None:
    gone, other = house.workspace / "anchor.txt", house.workspace / "oars.txt"
    gone.write_text("rope\n")
    other.write_text("four\n")
    chat = await window.propose(
        {"write": {"path": "anchor.txt", "content": "chain\n"}},
        {"write": {"path": "oars.txt", "content": "six\n"}},
    )
    await window.unfold("Changes")
    entries = window.entries("Changes")
    await entries.filter(has_text="anchor.txt").click()
    diff = window.editor.locator(".monaco-diff-editor .modified .view-lines")
    await expect(diff).to_contain_text("chain")
    gone.unlink()
    await window.command("Portico: Apply Proposal")
    await window.told("conflicts in anchor.txt")
    assert not gone.exists()
    assert other.read_text() == "four\n"
    await expect(entries.filter(has_text="anchor.txt")).to_contain_text("conflict")

    await window.answer("conflicts in anchor.txt", "Review")
    await expect(window.chat_frame.get_by_text("The file is deleted.")).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "deleted.png")
    await chat.button("Take theirs").click()
    await chat.button("Apply all").click()
    wanted = {gone: "chain\n", other: "six\n"}
    wait_until(
        lambda: all(file.exists() and file.read_text() == text for file, text in wanted.items()),
        "both files as the agent wants them",
    )


async def test_a_proposal_whose_file_is_deleted_is_discarded(window: Workbench, house: House) -> None:
    gone = house.workspace / "anchor.txt"
    gone.write_text("rope\n")
    await window.propose({"write": {"path": "anchor.txt", "content": "chain\n"}})
    await window.unfold("Changes")
    gone.unlink()
    await window.command("Portico: Discard Proposal")
    await window.confirm("Discard the whole proposal?", "Discard")
    await expect(window.entries("Changes").filter(has_text="anchor.txt")).to_have_count(0)
    assert not gone.exists()


async def test_a_file_that_vs_code_cannot_save_is_named_and_no_file_is_changed(
    open_window: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "vault"
    settings = folder / ".vscode" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"files.readonlyInclude": {"**/sealed.txt": True}}))
    sealed, loose, new = (folder / name for name in ("sealed.txt", "loose.txt", "new.txt"))
    sealed.write_text("wax\n")
    loose.write_text("rope\n")
    window = await open_window(folder)
    await window.open_chat()
    await window.open_file("sealed.txt")
    await window.propose(
        {"write": {"path": "sealed.txt", "content": "honey\n"}},
        {"write": {"path": "loose.txt", "content": "hemp\n"}},
        {"write": {"path": "new.txt", "content": "tar\n"}},
    )
    await window.command("Portico: Apply Proposal")
    told = await window.told("sealed.txt could not be saved")
    await expect(told).to_contain_text("Make it writable there, or leave it out")
    await expect(window.editor.locator(".view-lines")).to_contain_text("wax")
    await expect(window.page.locator(".tab.dirty")).to_have_count(0)
    assert (sealed.read_text(), loose.read_text(), new.exists()) == ("wax\n", "rope\n", False)
    await window.page.screenshot(path=OUTPUT / "sealed.png")


def complaints(server: CodeServer) -> int:
    """Number of log entries about invalid pages, over all windows."""
    logs = server.data.glob("logs/**/*Portico.log")
    return sum(log.read_text().count("ignored an invalid message") for log in logs)
