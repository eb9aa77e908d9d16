"""Sessions with an editor window open on their folder, in a real VS Code."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.user_environment import House
from tests.editors.language_servers.support import real_server_settings
from tests.support.stream import Json
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

LINES = [f"berth {number}" for number in range(1, 41)]


async def asked_editor(window: Workbench, tool: str, arguments: Json, answer: str) -> None:
    """Have the agent ask the editor. A session that began before its window was known has no such tools."""
    step = {"use_tool": {"server": "portico-code", "name": tool, "arguments": arguments}}

    async def attempt() -> None:
        chat = window.chat()
        await chat.tell(step)
        if await chat.answers.last.get_by_text("there is no server").count():
            await window.begin_session()
        await expect(chat.answers.last).to_contain_text(answer, timeout=ATTEMPT_MS)

    await persist(attempt)


async def test_a_text_that_is_not_saved_is_what_the_agent_reads(window: Workbench, house: House) -> None:
    file = house.workspace / "tides.txt"
    file.write_text("ebb at noon\n")
    await window.open_file("tides.txt")
    await window.select_all()
    await window.page.keyboard.type("flood at noon – größer 😀")
    await expect(window.page.locator(".tab.active.dirty")).to_have_count(1)

    async def attempt() -> None:
        await window.chat().tell({"read": {"path": "tides.txt"}})
        await expect(window.chat().answers.last).to_contain_text("größer 😀", timeout=ATTEMPT_MS)

    await persist(attempt)
    assert file.read_text() == "ebb at noon\n"
    await window.page.screenshot(path=OUTPUT / "unsaved.png")
    await window.command("File: Revert File")
    await expect(window.page.locator(".tab.active.dirty")).to_have_count(0)


async def test_a_proposal_of_several_files_is_one_step_that_one_undo_takes_back(
    window: Workbench, house: House
) -> None:
    one, other, new = (house.workspace / name for name in ("port.txt", "starboard.txt", "keel.txt"))
    one.write_text("red\n")
    other.write_text("blue\n")
    new.unlink(missing_ok=True)
    await window.open_file("port.txt")
    await window.propose(
        {"write": {"path": "port.txt", "content": "red light\n"}},
        {"write": {"path": "starboard.txt", "content": "green light\n"}},
        {"write": {"path": "keel.txt", "content": "oak\n"}},
    )
    await window.command("Portico: Apply Proposal")
    wanted = {one: "red light\n", other: "green light\n", new: "oak\n"}
    wait_until(
        lambda: all(file.exists() and file.read_text() == text for file, text in wanted.items()),
        "all of it in the files",
    )
    await expect(window.editor.locator(".view-lines")).to_contain_text("red light")
    await expect(window.page.locator(".tab.dirty")).to_have_count(0)

    async def focus() -> None:
        await window.editor.locator(".view-lines").click(timeout=ATTEMPT_MS)
        await expect(window.editor.locator(".monaco-editor.focused")).to_have_count(1, timeout=ATTEMPT_MS)

    # The key is pressed once: a second undo while the first is under way would be one of this file alone.
    await persist(focus)
    await window.page.keyboard.press("Control+z")
    await expect(window.editor.locator(".view-lines")).not_to_contain_text("light")
    wait_until(lambda: not new.exists(), "the new file to be gone")
    # VS Code opens what is unsaved and in no tab, after a moment; what it saves together are the tabs.
    await expect(window.page.locator(".tab.dirty")).to_have_count(2)
    await window.page.screenshot(path=OUTPUT / "one-undo.png")
    await window.command("File: Save All Files")
    wait_until(lambda: (one.read_text(), other.read_text()) == ("red\n", "blue\n"), "the files as they were")


async def test_what_the_person_has_not_saved_is_kept_and_stays_unsaved(
    window: Workbench, house: House
) -> None:
    log, plan, old = (house.workspace / name for name in ("log.txt", "plan.txt", "ballast.txt"))
    log.write_text("\n".join([*LINES, ""]))
    plan.write_bytes("Bordhöhe\r\nKiel\r\n".encode())
    old.write_text("stones\n")
    changed = [*LINES[:37], "berth 38 taken", *LINES[38:], ""]
    await window.propose(
        {"write": {"path": "log.txt", "content": "\n".join(changed)}},
        {"write": {"path": "plan.txt", "content": "Bordhöhe\r\nKiel aus Eiche\r\n"}},
        {"remove": "ballast.txt"},
    )
    await window.open_file("log.txt")
    await window.editor.locator(".view-lines").click()
    await window.page.keyboard.press("Control+Home")
    await window.page.keyboard.type("my own ")
    await expect(window.page.locator(".tab.active.dirty")).to_have_count(1)
    await expect(window.editor.locator(".view-lines")).to_contain_text("my own berth 1")
    await window.command("Portico: Apply Proposal")
    oak = "Bordhöhe\r\nKiel aus Eiche\r\n".encode()
    wait_until(lambda: plan.read_bytes() == oak and not old.exists(), "what was applied")
    assert log.read_text() == "\n".join([*LINES, ""])
    await window.command("File: Save All Files")
    wanted = "\n".join(["my own berth 1", *changed[1:]])
    wait_until(lambda: log.read_text() == wanted, "what both of them wrote")


async def test_one_change_of_a_file_is_applied_in_the_diff_editor_and_another_discarded(
    window: Workbench, house: House
) -> None:
    file = house.workspace / "berths.txt"
    file.write_text("\n".join([*LINES, ""]))
    changed = [*LINES]
    changed[1], changed[37] = "berth 2 taken", "berth 38 taken"
    await window.propose({"write": {"path": "berths.txt", "content": "\n".join([*changed, ""])}})
    await window.unfold("Changes")
    await window.entries("Changes").filter(has_text="berths.txt").click()
    shown = window.editor.locator(".monaco-diff-editor .modified .view-lines")
    await expect(shown).to_contain_text("berth 2 taken")
    await expect(window.editor.locator(".modified .line-insert")).to_have_count(2)
    await window.page.screenshot(path=OUTPUT / "hunks.png")
    await shown.get_by_text("berth 2 taken").click()
    await window.page.get_by_role("button", name="Apply This Change").click()
    wanted = [LINES[0], changed[1], *LINES[2:], ""]
    wait_until(lambda: file.read_text() == "\n".join(wanted), "the first change in the file")
    await expect(window.editor.locator(".modified .line-insert")).to_have_count(1)
    await expect(window.page.locator(".tabs-container .tab")).to_have_count(1)
    await shown.get_by_text("berth 38 taken").click()
    await window.page.get_by_role("button", name="Discard This Change").click()
    await expect(window.editor.locator(".monaco-diff-editor")).to_have_count(0)
    await expect(window.entries("Changes").filter(has_text="berths.txt")).to_have_count(0)
    assert file.read_text() == "\n".join(wanted)


async def test_an_agent_asks_the_editor_for_definitions_and_problems(window: Workbench, house: House) -> None:
    (house.workspace / "hull.ts").write_text("export function planks(): number {\n  return 12;\n}\n")
    ship = house.workspace / "ship.ts"
    ship.write_text('import { planks } from "./hull";\n\nconst length: string = planks();\n')
    await window.open_file("ship.ts")
    await expect(window.page.locator(".squiggly-error").first).to_be_attached(timeout=60_000)
    about = {"path": str(ship), "line": 3, "symbol": "planks"}
    await asked_editor(window, "definition", about, "hull.ts")
    await expect(window.chat().answers.last).to_contain_text("export function planks")
    await asked_editor(window, "problems", {"path": str(ship)}, "not assignable to type 'string'")
    await window.page.screenshot(path=OUTPUT / "language-features.png")
    chat = window.chat()
    diff = {"path": str(ship), "old": None, "new": "sails"}
    edit = {"title": "Edit ship.ts", "kind": "edit", "diff": diff}
    write = {"write": {"path": "ship.ts", "content": "const length: number = sails();\n"}}
    await chat.tell({"tool": {**edit, "locations": [{"path": str(ship)}], "steps": [write]}})
    await expect(chat.fold(r"Edit ship.ts.*new problem.*solved")).to_be_visible(timeout=60_000)


async def test_a_session_with_a_working_copy_hears_about_that_copy_from_language_servers(
    window: Workbench, house: House
) -> None:
    broken = {
        "rudder.ts": 'const angle: number = "hard a-port";\n',
        "rudder.py": 'angle: int = "hard a-port"\n',
        "rudder.c": 'int *angle = "hard a-port";\n',
    }
    house.settings({"agent": "scripted", "agents": house.agents, "languageServers": real_server_settings()})
    try:
        chat = await window.propose(
            *({"write": {"path": path, "content": text}} for path, text in broken.items())
        )
        await chat.ask(
            *(
                {"use_tool": {"server": "portico-code", "name": "problems", "arguments": {"path": path}}}
                for path in broken
            )
        )
        for words in ("rudder.ts:1:7  error", "rudder.py:1:14  error [basedpyright]", "rudder.c:1:6  "):
            await expect(chat.answers.last).to_contain_text(words, timeout=90_000)
    finally:
        house.settings({"agent": "scripted", "agents": house.agents})


async def test_a_command_goes_to_a_terminal_only_when_the_person_agrees(
    window: Workbench, house: House
) -> None:
    mark = house.workspace / "moored.txt"
    mark.unlink(missing_ok=True)
    terminals = window.page.locator(".terminal-wrapper")
    await asked_editor(window, "symbols", {"path": str(house.workspace / "boats.py")}, "No such symbol")
    arguments = {"command": f"echo moored > {mark.name}", "reason": "It asks for a password."}
    chat = window.chat()
    await chat.ask(
        {"use_tool": {"server": "portico-code", "name": "run_in_terminal", "arguments": arguments}}
    )
    card = chat.log.get_by_role("group", name=re.compile("^Permission"))
    await expect(card).to_contain_text("echo moored")
    await expect(terminals).to_have_count(0)
    assert not mark.exists()
    try:
        await card.get_by_role("button", name="Run it in my terminal").click()
        wait_until(mark.exists, "the file that the command makes")
        await chat.rested()
        # It comes to the front when the person asks for it, and is used again.
        await expect(terminals).to_have_count(0)
        await window.answer("runs in the terminal “Portico”", "Show Terminal")
        await expect(terminals).to_have_count(1)
        await window.page.screenshot(path=OUTPUT / "own-terminal.png")
        mark.unlink()
        await chat.ask(
            {"use_tool": {"server": "portico-code", "name": "run_in_terminal", "arguments": arguments}}
        )
        await card.last.get_by_role("button", name="Run it in my terminal").click()
        wait_until(mark.exists, "the file that the command makes again")
        await expect(terminals).to_have_count(1)
        await expect(window.page.locator(".xterm-rows:visible")).to_contain_text(
            re.compile("echo moored.*echo moored", re.DOTALL)
        )
    finally:
        await window.command("Terminal: Kill All Terminals")
    await expect(terminals).to_have_count(0)


async def test_a_command_of_the_agent_is_shown_in_a_terminal_when_the_person_asks(window: Workbench) -> None:
    chat = window.chat()
    terminals = window.page.locator(".terminal-wrapper")
    await chat.tell(
        {
            "tool": {
                "id": "sounding",
                "title": "Sound the depth",
                "kind": "execute",
                "raw_input": {"command": "sound --deep"},
                "content": [{"type": "content", "content": {"type": "text", "text": "twelve fathoms"}}],
            }
        }
    )
    script = "echo anchor `expr 3 + 4`; sleep 600"
    await chat.ask({"run": {"command": "sh", "args": ["-c", script]}})
    await expect(chat.seen("anchor 7")).to_be_visible()
    await expect(terminals).to_have_count(0)
    try:
        await window.command("Portico: Show Command in Terminal")
        await window.pick(script)
        printed = terminals.locator(".xterm-rows")
        await expect(printed).to_contain_text("anchor 7")
        await window.page.screenshot(path=OUTPUT / "tool-terminal.png")

        async def stop() -> None:
            await terminals.locator(".xterm-helper-textarea").focus(timeout=ATTEMPT_MS)
            await window.page.keyboard.press("Control+c")
            await expect(printed).to_contain_text("Ended by SIGTERM", timeout=ATTEMPT_MS)

        await persist(stop)
        await chat.rested()
        await expect(window.dialog).to_have_count(0)
        await chat.fold("Sound the depth").click()
        await chat.button("Show in terminal").first.click()
        await expect(window.page.locator(".xterm-rows:visible")).to_contain_text("twelve fathoms")
    finally:
        await window.command("Terminal: Kill All Terminals")
    await expect(terminals).to_have_count(0)


async def test_a_command_that_the_agent_runs_itself_is_read_to_its_last_word_and_ends_with_the_turn(
    window: Workbench,
) -> None:
    chat = window.chat()
    terminals = window.page.locator(".terminal-wrapper")
    depths = "".join(f"{depth} fathoms\n" for depth in range(40))
    opening = {"id": "soundings", "title": "Sound on", "kind": "execute", "statuses": ["in_progress"]}
    await chat.ask(
        {"tool": opening},
        {"tool_update": {"id": "soundings", "text": depths}},
        {"tool_update": {"id": "soundings", "text": f"{depths}aground\n"}},
        {"hang": {}},
    )
    await expect(chat.seen("aground")).to_be_visible()
    try:
        await window.command("Portico: Show Command in Terminal")
        await expect(terminals.locator(".xterm-rows")).to_contain_text("aground")

        async def stop() -> None:
            await terminals.locator(".xterm-helper-textarea").focus(timeout=ATTEMPT_MS)
            await window.page.keyboard.press("Control+c")
            await expect(window.dialog).to_be_visible(timeout=ATTEMPT_MS)

        await persist(stop)
        await window.confirm("Stop the turn?", "Stop")
        await chat.rested()
    finally:
        await window.command("Terminal: Kill All Terminals")
    await expect(terminals).to_have_count(0)
