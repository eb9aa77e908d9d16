"""Tools, diffs, commands, plans and permissions on a terminal, live and finished."""

import asyncio
from contextlib import suppress

import msgspec
import pytest
from msgspec import Raw

from portico.domain.events import Notice, PermissionResolved, PlanUpdated, ToolCompleted
from portico.domain.values import DiffPart, PlanEntry, TextPart
from tests.doors.terminal.support import (
    RUNNING,
    Stage,
    done,
    ended,
    permission,
    picture,
    printed,
    started,
    text,
    tool,
)


def test_a_tool_turns_a_spinner_counts_seconds_and_ends_with_a_tick() -> None:
    stage = Stage()
    stage.show(tool("Search `retry`", "search"), pause=0.06)
    assert stage.screen.text == "⠋ ⌕ Search retry\n"
    stage.wait(2)
    assert stage.screen.text == "⠋ ⌕ Search retry  2s\n"
    shown = stage.show(done(TextPart(text="a.py:1\nb.py:2"), duration_ms=2100))
    assert shown == "✓ ⌕ Search retry  2.1s\n    a.py:1\n    b.py:2\n"


def test_a_failed_tool_says_so_and_shows_why() -> None:
    stage = Stage()
    shown = stage.show(
        tool("Read nothing.txt", "read"), done(TextPart(text="no such file"), success=False, duration_ms=10)
    )
    assert shown == "✗ → Read nothing.txt\n    no such file\n"


def test_a_long_title_is_cut_but_its_time_stays_in_sight() -> None:
    stage = Stage(width=44)
    shown = stage.show(tool("Run " + "a very long command " * 6, "execute"), done(duration_ms=61_000))
    assert shown == "✓ $ Run a very long command a very…  1m 01s\n"


def test_text_after_a_tool_stands_apart_and_tools_stand_together() -> None:
    stage = Stage()
    shown = stage.show(
        text("Looking."),
        tool("Read a.py", "read", "c1"),
        tool("Read b.py", "read", "c2"),
        ToolCompleted(tool_id="c2", success=True, duration_ms=0),
        ToolCompleted(tool_id="c1", success=True, duration_ms=0),
        text("Found."),
    )
    assert shown == "Looking.\n\n✓ → Read b.py\n✓ → Read a.py\n\nFound.\n"


def test_an_edit_is_a_compact_diff_with_paths_of_the_workspace() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 31))
    new = old.replace("line 12\n", "line twelve\nline twelve and a half\n")
    stage = Stage()
    shown = stage.show(
        started("/work/app"),
        tool("Edit `/work/app/src/a.py`", "edit"),
        done(DiffPart(path="/work/app/src/a.py", old_text=old, new_text=new)),
    )
    assert shown == picture(
        """
        ✓ ✎ Edit src/a.py +2 −1  0.2s
            10   line 10
            11   line 11
            12 − line 12
            12 + line twelve
            13 + line twelve and a half
            14   line 13
            15   line 14
        """
    )


def test_a_long_diff_is_cut_with_a_count_of_the_rest() -> None:
    stage = Stage(height=50)
    content = (DiffPart(path="new.py", new_text="".join(f"{number}\n" for number in range(56))),)
    shown = stage.show(tool("Write a file", "edit"), done(*content))
    lines = shown.splitlines()
    assert lines[1] == "    new.py new +56"
    assert lines[-1] == "    … 40 more lines"
    assert len(lines) == 19


def test_a_command_shows_its_last_lines_live_and_a_bounded_excerpt_at_the_end() -> None:
    stage = Stage()
    stage.show(tool("make test", "execute"))
    for number in range(20):
        stage.show(printed(f"line {number}\n"))
    assert stage.screen.text.splitlines()[1:] == ["    line 17", "    line 18", "    line 19"]
    stage.show(printed("all passed\n", exit_code=0))
    lines = stage.show(done()).splitlines()
    assert lines[0] == "✓ $ make test  0.2s"
    assert lines[1] == "    … 13 earlier lines"
    assert lines[2:] == [*(f"    line {number}" for number in range(13, 20)), "    all passed"]


def test_a_command_that_fails_tells_its_exit_code() -> None:
    stage = Stage()
    shown = stage.show(tool("make", "execute"), printed("boom\n", exit_code=2), done(success=False))
    assert shown == "✗ $ make  exit 2 · 0.2s\n    boom\n"


def test_a_progress_bar_shows_its_last_form_only() -> None:
    stage = Stage()
    shown = stage.show(tool("get", "execute"), printed("10%\r50%\r"), printed("100%\r\n"), done())
    assert shown == "✓ $ get  0.2s\n    100%\n"


def test_a_plan_is_a_checklist_at_the_bottom_and_stays_when_it_is_done() -> None:
    def plan(*states: str) -> PlanUpdated:
        names = ("Find it", "Change it", "Run the tests")
        return PlanUpdated(
            entries=tuple(
                PlanEntry(content=name, status=state)  # type: ignore[arg-type]
                for name, state in zip(names, states, strict=True)
            )
        )

    stage = Stage()
    stage.show(RUNNING, plan("in_progress", "pending", "pending"), text("Looking."))
    assert stage.screen.text.splitlines()[:5] == [
        "Looking.",
        "",
        "◐ Find it",
        "○ Change it",
        "○ Run the tests",
    ]
    shown = stage.show(plan("completed", "completed", "completed"), text("Done."), ended())
    assert shown == "Looking.\n\n✓ Find it\n✓ Change it\n✓ Run the tests\n\nDone.\n\n✓ 2.3s\n"


def test_a_long_plan_shows_the_part_around_the_step_under_way() -> None:
    stage = Stage()
    states = ["completed"] * 8 + ["in_progress"] + ["pending"] * 6
    entries = tuple(
        PlanEntry(content=f"step {number}", status=state)  # type: ignore[arg-type]
        for number, state in enumerate(states)
    )
    assert stage.show(PlanUpdated(entries=entries)) == picture(
        """
        … 6 earlier steps
        ✓ step 6
        ✓ step 7
        ◐ step 8
        ○ step 9
        ○ step 10
        ○ step 11
        … 3 more steps
        """
    )


def test_a_permission_card_shows_the_command_and_the_agents_own_options() -> None:
    stage = Stage()
    stage.show(RUNNING, permission(), pause=0.06)
    assert stage.screen.text.endswith("Waiting for you · Ctrl-C to stop\n")
    with stage.renderer.question(permission()):
        assert stage.screen.text == picture(
            """
            ▌ Run npm test  execute
            ▌ npm test --silent
            ▌
            ▌ 1  Allow once  y
            ▌ 2  Always allow npm  a
            ▌ 3  Reject  n
            """
        )
        assert stage.screen.cursor_at_line_start


def test_nothing_is_drawn_over_a_question_and_nothing_is_lost_meanwhile() -> None:
    stage = Stage()
    stage.show(RUNNING, tool("npm test", "execute"), permission())
    with stage.renderer.question(permission()):
        before = stage.screen.raw
        stage.show(printed("meanwhile\n"), Notice(level="info", text="Something else."))
        stage.wait(1)
        assert stage.screen.raw == before
        stage.screen.write("y/a/n ? y\n")
    shown = stage.show(PermissionResolved(request_id="p1", outcome="allowed", by="person", option_id="once"))
    shown = stage.show(done(), ended())
    assert shown.splitlines()[6:] == [
        "y/a/n ? y",
        "",
        "· Something else.",
        "",
        "✓ $ npm test  0.2s",
        "    meanwhile",
        "",
        "✓ 2.3s",
    ]


def test_a_question_that_somebody_else_answers_while_it_is_shown_says_how() -> None:
    stage = Stage()
    stage.show(RUNNING, permission())
    with suppress(asyncio.CancelledError), stage.renderer.question(permission()):
        stage.screen.write("y/a/n ? ")
        stage.show(PermissionResolved(request_id="p1", outcome="allowed", by="person", option_id="once"))
        stage.screen.write("\n")
        raise asyncio.CancelledError
    assert stage.end().splitlines()[6:] == ["y/a/n ?", "", "✓ Allowed (Allow once): Run npm test"]


def test_a_permission_card_for_an_edit_shows_the_diff_and_the_edit_does_not_repeat_it() -> None:
    stage = Stage()
    part = DiffPart(path="a.py", old_text="one\n", new_text="two\n")
    request = permission("Edit a.py", "edit")
    request = type(request)(
        request_id="p1", tool_id="c1", title="Edit a.py", tool_kind="edit", options=(), content=(part,)
    )
    stage.show(tool("Edit a.py", "edit"), request)
    with stage.renderer.question(request):
        assert "▌ 1 − one\n▌ 1 + two" in stage.screen.text
    shown = stage.show(done(part))
    assert shown.splitlines()[-1] == "✓ ✎ Edit a.py +1 −1  0.2s"


@pytest.mark.parametrize(
    ("title", "told", "shown"),
    [
        ("pytest\nrm -rf ~", b'{"command":"pytest\\nrm -rf ~"}', "▌ pytest\n▌ rm -rf ~\n"),
        ("pytest\nrm -rf ~", b"{}", "▌ pytest\n▌ rm -rf ~\n"),
        ("echo `rm -rf ~`", b"{}", "▌ echo `rm -rf ~`\n"),
        ("`pytest`", b"{}", "▌ pytest  execute\n▌\n"),
    ],
)
def test_a_permission_card_shows_a_command_as_a_shell_would_read_it(
    title: str, told: bytes, shown: str
) -> None:
    stage = Stage()
    request = msgspec.structs.replace(permission(title), input=Raw(told))
    stage.show(request)
    with stage.renderer.question(request):
        assert shown in stage.screen.text


@pytest.mark.parametrize(
    ("resolved", "line"),
    [
        (
            PermissionResolved(request_id="p1", outcome="denied", by="nobody"),
            "✗ Denied: Run npm test, no one could be asked",
        ),
        (
            PermissionResolved(
                request_id="p1", outcome="allowed", by="policy", rule="execute:npm*", option_id="once"
            ),
            "✓ Allowed (Allow once): Run npm test, by the rule execute:npm*",
        ),
        (
            PermissionResolved(request_id="p1", outcome="canceled", by="nobody"),
            "✗ Canceled: Run npm test",
        ),
        (
            PermissionResolved(request_id="p1", outcome="denied", by="person", option_id="no"),
            "✗ Denied (Reject): Run npm test",
        ),
    ],
)
def test_a_decision_that_nobody_was_asked_for_here_is_one_line(
    resolved: PermissionResolved, line: str
) -> None:
    assert Stage().show(permission(), resolved) == f"{line}\n"
