"""Tool calls, plans, todos, and the usage meter on the page."""

import re

import psutil
import pytest
from playwright.async_api import expect

from portico.api.v1 import agent_pb as pb
from tests.browser.chat import Chat, say
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.support.waiting import wait_for_file
from tests.support.window import attached_window

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_tool_call_shows_its_title_kind_state_and_duration(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-searching"
    await chat.ask(
        {
            "tool": {
                "title": "Look for boats",
                "kind": "search",
                "raw_input": {"pattern": "boat"},
                "steps": [{"wait_file": str(go)}, {"pause_ms": 1100}],
                "raw_output": {"found": 2},
            }
        }
    )
    await expect(chat.fold("search.*Look for boats.*running")).to_be_visible()
    go.touch()
    card = chat.fold(r"search.*Look for boats.*\d s.*done")
    await expect(card).to_have_attribute("aria-expanded", "false")
    await card.click()
    await expect(chat.seen(re.compile('"pattern": "boat"'))).to_be_visible()
    await expect(chat.seen(re.compile('"found": 2'))).to_be_visible()


async def test_a_tool_that_only_reads_says_so(chat: Chat, shoot: Shoot) -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "look", "title": "github: get_issue", "kind": "other"}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "look", "status": "completed"}
    await chat.tell({"update": {**call, "_meta": {"portico": {"readOnly": True}}}}, {"update": done})
    await expect(chat.fold(r"github: get_issue.*read-only.*done")).to_be_visible()
    await shoot(chat, "read-only-tool")


async def test_a_change_shows_the_problems_that_it_added_and_solved(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    path = str(house.workspace / "boats.py")
    diff = {"path": path, "old": "sail = 2\n", "new": "sail = mast\n"}

    def problem(line: int, message: str, severity: pb.ProblemSeverity) -> pb.FoundProblem:
        return pb.FoundProblem(path=path, line=line, message=message, severity=severity, source="checker")

    async with attached_window(house.server, house.workspace) as window:

        async def report(*problems: pb.FoundProblem) -> None:
            files = [pb.ProblemList(path=path, problems=list(problems))]
            await window.submit("editor_problems", pb.EditorProblems(editor_id=window.editor_id, files=files))

        await report(problem(4, "unused name rope", pb.ProblemSeverity.WARNING))
        await chat.tell({"tool": {"title": f"Edit {path}", "kind": "edit", "diff": diff}})
        await report(problem(0, "unknown name mast", pb.ProblemSeverity.ERROR))
        card = chat.fold(r"edit.*Edit boats.py.*1 new problem.*1 problem solved.*done")
        await card.click()
    problems = chat.log.get_by_role("list", name="Problems").get_by_role("listitem")
    await expect(problems).to_have_text(
        [re.compile("new error.*boats.py:1.*unknown name mast"), re.compile("solved.*unused name rope")]
    )
    await shoot(chat, "problems", night=True)


async def test_a_change_is_shown_line_by_line(chat: Chat, house: House, shoot: Shoot) -> None:
    path = str(house.workspace / "boats.py")
    diff = {
        "path": path,
        "old": "anchor = 1\nsail = 2\nrope = 3\n",
        "new": "anchor = 1\nsail = 4\nrope = 3\n",
    }
    await chat.tell({"tool": {"title": f"Edit {path}", "kind": "edit", "diff": diff}})
    card = chat.fold(r"edit.*Edit boats.py.*1 added, 1 removed.*done")
    await card.click()
    change = chat.log.get_by_role("group", name=re.compile("Change of .*boats.py"))
    await expect(change.locator(".p-diff-removed .p-diff-text")).to_have_text("sail = 2")
    await expect(change.locator(".p-diff-added .p-diff-text")).to_have_text("sail = 4")
    await expect(change.locator(".p-diff-added mark")).to_have_text("4")
    await change.get_by_role("button", name="boats.py").click()
    await expect(change.get_by_role("button", name="Copied")).to_be_visible()
    assert await chat.page.evaluate("navigator.clipboard.readText()") == path
    await shoot(chat, "diff", night=True)


async def test_a_command_shows_its_output_in_colour_and_how_it_ended(chat: Chat, shoot: Shoot) -> None:
    script = r"printf '\033[32mgreen boat\033[0m\n'; exit 3"
    await chat.tell({"run": {"command": "sh", "args": ["-c", script]}})
    card = chat.log.locator(".p-tool").get_by_role("button", expanded=False).first
    if await card.count() == 1:
        await card.click()
    green = chat.log.locator(".p-terminal").get_by_text("green boat")
    await expect(green).to_be_visible()
    plain = await chat.log.evaluate("one => getComputedStyle(one).color")
    assert await green.evaluate("one => getComputedStyle(one).color") != plain
    await expect(chat.seen("exit code 3")).to_be_visible()
    await shoot(chat, "terminal")


async def test_what_an_agent_does_without_telling_is_shown_all_the_same(chat: Chat, house: House) -> None:
    (house.workspace / "silent.txt").write_text("anchor\n")
    create = {"sessionId": "$session", "command": "echo", "args": ["quiet boat"]}
    await chat.tell(
        {"request": {"method": "terminal/create", "params": create}},
        {"write": {"path": "silent.txt", "content": "sail\n"}},
    )
    await expect(chat.fold(r"echo quiet boat")).to_have_count(1)
    card = chat.fold(r"edit.*Write silent.txt.*1 added, 1 removed.*done")
    await card.click()
    change = chat.log.get_by_role("group", name=re.compile("Change of .*silent.txt"))
    await expect(change.locator(".p-diff-removed .p-diff-text")).to_have_text("anchor")
    await expect(change.locator(".p-diff-added .p-diff-text")).to_have_text("sail")


async def test_a_command_that_says_nothing_is_stopped_and_the_turn_goes_on(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    script = "echo $$ > pid.new; mv pid.new pid; exec sleep 1000"
    await chat.ask({"run": {"command": "sh", "args": ["-c", script], "id": "long"}}, say("After it."))
    stop = chat.log.get_by_role("button", name="Stop command")
    await expect(stop).to_be_visible()
    wait_for_file(house.workspace / "pid")
    pid = int((house.workspace / "pid").read_text())
    await shoot(chat, "command", widths=(300, 1100))
    await stop.click()
    await expect(chat.seen("After it.")).to_be_visible()
    await expect(chat.log.locator(".p-terminal").get_by_text("ended by SIGTERM")).to_be_visible()
    await expect(stop).to_have_count(0)
    assert not psutil.pid_exists(pid)
    gone = {"sessionId": await chat.session_id(), "terminalId": "term_gone"}
    assert house.server.ask("StopCommand", gone) == {}


async def test_places_of_a_tool_call_lead_to_files(chat: Chat, house: House) -> None:
    place = {"path": str(house.workspace / "crews/cook.py"), "line": 2}
    await chat.tell({"tool": {"title": "Read the cook", "kind": "read", "locations": [place]}})
    await chat.fold("Read the cook").click()
    files = chat.log.get_by_role("list", name="Files")
    await files.get_by_role("button", name="crews/cook.py:2").click()
    await expect(files.get_by_role("button", name="Copied")).to_be_visible()


async def test_a_failed_tool_call_opens_by_itself(chat: Chat) -> None:
    failed = {
        "title": "Sink a boat",
        "kind": "other",
        "statuses": ["in_progress", "failed"],
        "text": "It floats.",
    }
    await chat.tell({"tool": failed})
    await expect(chat.fold("Sink a boat.*failed")).to_have_attribute("aria-expanded", "true")
    await expect(chat.seen("It floats.")).to_be_visible()


async def test_several_finished_steps_fold_into_one_line(chat: Chat) -> None:
    reads = [{"tool": {"id": f"r{n}", "title": f"Read {n}", "kind": "read"}} for n in range(3)]
    await chat.tell(*reads, {"tool": {"id": "x", "title": "Run it", "kind": "execute"}}, say("Done."))
    line = chat.fold("^4 steps · read 3 files, ran 1 command")
    await line.click()
    await expect(chat.fold("Read 2.*done")).to_be_visible()


async def test_an_image_of_a_tool_is_shown(chat: Chat) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    block = {"type": "image", "mimeType": "image/png", "data": pixel}
    await chat.tell({"tool": {"title": "Draw", "content": [{"type": "content", "content": block}]}})
    await chat.fold("Draw").click()
    picture = chat.log.get_by_role("img", name="Image")
    await expect(picture).to_be_visible()
    await expect(picture).to_have_js_property("naturalWidth", 1)


async def test_the_plan_is_a_live_checklist_while_the_agent_works(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-planning"

    def plan(first: str, second: str) -> dict[str, object]:
        states = {"Caulk": first, "Launch": second}
        return {"plan": [{"content": name, "priority": "high", "status": of} for name, of in states.items()]}

    await chat.ask(plan("in_progress", "pending"), {"wait_file": str(go)}, plan("completed", "completed"))
    pinned = chat.page.get_by_role("region", name="Plan and todos")
    line = pinned.get_by_role("button", name=re.compile("^Plan · 0 of 2"))
    await expect(line).to_be_visible()
    if await line.get_attribute("aria-expanded") == "false":
        await line.click()
    await expect(pinned.get_by_role("listitem")).to_have_text([re.compile("in progress: Caulk"), "Launch"])
    go.touch()
    done = chat.fold("^Plan · 2 of 2")
    await done.click()
    await expect(chat.log.get_by_role("listitem")).to_have_text([re.compile("Caulk"), re.compile("Launch")])


async def test_todos_are_written_and_checked_off(chat: Chat, house: House) -> None:
    await chat.button("Todos").click()
    box = chat.page.get_by_role("textbox", name="Add a todo")
    await box.fill("Paint the mast")
    await box.press("Enter")
    todo = chat.page.get_by_role("checkbox", name="Paint the mast")
    await todo.check()
    await expect(chat.button(re.compile("^Todos · 1 of 1"))).to_be_visible()
    await chat.page.reload()
    await expect(chat.button(re.compile("^Todos · 1 of 1"))).to_be_visible()
    (kept,) = house.session(await chat.session_id())["todos"]
    assert (kept["content"], kept["status"]) == ("Paint the mast", "PROGRESS_COMPLETED")


async def test_the_meter_is_a_small_picture_with_numbers_on_hover(chat: Chat) -> None:
    cost = {"amount": 0.25, "currency": "USD"}
    await chat.tell({"usage": {"used": 53_000, "size": 200_000, "cost": cost}})
    meter = chat.page.get_by_role("meter", name="Context used")
    await expect(meter).to_have_attribute("aria-valuenow", "27")
    numbers = chat.page.get_by_text(re.compile(r"53,000 of 200,000 tokens \(2\d %\)"))
    await expect(numbers).to_be_hidden()
    await meter.hover()
    await expect(numbers).to_be_visible()
    await expect(chat.page.get_by_text("$0.25")).to_be_visible()
