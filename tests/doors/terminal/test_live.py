"""How each kind of event looks on a terminal, while it happens and when it is over."""

from textwrap import dedent

import pytest
from msgspec import Raw

from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.events import (
    AnyPayload,
    DiffPart,
    ErrorReported,
    Notice,
    PermissionResolved,
    PlanEntry,
    PlanUpdated,
    PromptSubmitted,
    StateChanged,
    TerminalOutput,
    TextDelta,
    TextPart,
    Thinking,
    ToolCompleted,
    ToolUpdated,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from tests.doors.terminal.support import RUNNING, Stage, ended, permission, started, text, tool


def picture(lines: str) -> str:
    return dedent(lines).lstrip("\n")


def done(success: bool = True, duration_ms: int = 240, **facts: object) -> ToolCompleted:
    return ToolCompleted(tool_id="c1", success=success, duration_ms=duration_ms, **facts)  # type: ignore[arg-type]


def test_an_answer_is_shown_as_markdown_and_ends_with_a_quiet_footer() -> None:
    stage = Stage()
    usage = UsageUpdated(used=24_800, size=200_000, cost=0.042, input_tokens=23_100, output_tokens=1_700)
    answer = "# Done\nAll **14** tests `pass`.\n\n- one\n  - two\n10. ten\n\n```sh\nmake -j2\n```\nBye"
    shown = stage.show(RUNNING, text(answer), usage, ended(tools=2))
    assert shown == picture(
        """
        Done
        All 14 tests pass.

        • one
          • two
        10. ten

          make -j2

        Bye

        ✓ 2.3s · 2 tools · 24.8k tokens · 12% of context · $0.042
        """
    )
    assert stage.screen.cursor_at_line_start


def test_tables_quotes_rules_and_checklists_fit_forty_columns() -> None:
    stage = Stage(width=40)
    shown = stage.show(
        text(
            "| Table | Rows | What |\n|---|--:|---|\n| events | 1,204 | one row for each event |\n\n"
            "> A crash shows nothing that is later missing.\n\n---\n\n- [x] gapless\n- [ ] later\n"
        )
    )
    stage.end()
    assert shown == picture(
        """
        Table     Rows   What
        ───────────────────────────────────────
        events   1,204   one row for each event

        │ A crash shows nothing that is later
        │ missing.

        ───────────────────────────────────────

        ✓ gapless
        ○ later
        """
    )


def test_wide_characters_and_emoji_keep_their_columns() -> None:
    stage = Stage(width=40)
    shown = stage.show(text("- 漢字を使う長い文章はここで折り返されるはずです\n- 🎉 done été\n"))
    assert shown == picture(
        """
        • 漢字を使う長い文章はここで折り返され
          るはずです
        • 🎉 done été
        """
    )


def test_the_open_block_is_redrawn_in_place_and_finished_ones_are_written_once() -> None:
    stage = Stage()
    stage.show(text("First paragraph.\n\nSecond"))
    assert stage.screen.text == "First paragraph.\n\nSecond\n"
    stage.show(text(" grows"), text(" on"))
    assert stage.screen.text == "First paragraph.\n\nSecond grows on\n"
    stage.end()
    assert stage.screen.raw.count("First paragraph.") == 1


def test_a_turn_without_output_shows_what_it_is_doing_and_how_to_stop_it() -> None:
    stage = Stage()
    starting = StateChanged(state=TurnState.STARTING, previous=TurnState.IDLE)
    assert stage.show(started(), starting, pause=0.06) == "⠙ Starting porter · Ctrl-C stops\n"
    stage.wait(3)
    assert stage.screen.text.endswith("Starting porter · 3s · Ctrl-C stops\n")
    assert stage.show(ended()) == "✓ 2.3s\n"


def test_a_thought_is_one_line_while_it_lasts_and_one_line_when_it_is_over() -> None:
    stage = Stage(width=50)
    shown = stage.show(
        Thinking(text="I should look at "), Thinking(text="the settings first, and then. " * 9)
    )
    assert len(shown.splitlines()) == 1
    assert "Thinking" in shown
    stage.wait(1.0)
    assert stage.show(text("Here.")) == picture(
        """
        ∴ Thought for 1.2s  I should look at the setting…

        Here.
        """
    )


def test_a_tool_turns_a_spinner_counts_seconds_and_ends_with_a_tick() -> None:
    stage = Stage()
    stage.show(tool("Search `retry`", "search"), pause=0.06)
    assert stage.screen.text == "⠋ ⌕ Search retry\n"
    stage.wait(2)
    assert stage.screen.text == "⠋ ⌕ Search retry  2s\n"
    shown = stage.show(done(duration_ms=2100, content=(TextPart(text="a.py:1\nb.py:2"),)))
    assert shown == "✓ ⌕ Search retry  2.1s\n    a.py:1\n    b.py:2\n"


def test_a_failed_tool_says_so_and_shows_why() -> None:
    stage = Stage()
    shown = stage.show(
        tool("Read nothing.txt", "read"), done(False, 10, content=(TextPart(text="no such file"),))
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
        done(content=(DiffPart(path="/work/app/src/a.py", old_text=old, new_text=new),)),
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
    shown = stage.show(tool("Write a file", "edit"), done(content=content))
    lines = shown.splitlines()
    assert lines[1] == "    new.py new +56"
    assert lines[-1] == "    … 40 more lines"
    assert len(lines) == 19


def test_a_command_shows_its_last_lines_live_and_a_bounded_excerpt_at_the_end() -> None:
    stage = Stage()
    stage.show(tool("make test", "execute"))
    for number in range(20):
        stage.show(_printed(f"line {number}\n"))
    assert stage.screen.text.splitlines()[1:] == ["    line 17", "    line 18", "    line 19"]
    stage.show(_printed("all passed\n", exit_code=0))
    lines = stage.show(done()).splitlines()
    assert lines[0] == "✓ $ make test  0.2s"
    assert lines[1] == "    … 13 earlier lines"
    assert lines[2:] == [*(f"    line {number}" for number in range(13, 20)), "    all passed"]


def test_a_command_that_fails_tells_its_exit_code() -> None:
    stage = Stage()
    shown = stage.show(tool("make", "execute"), _printed("boom\n", exit_code=2), done(False))
    assert shown == "✗ $ make  exit 2 · 0.2s\n    boom\n"


def test_a_progress_bar_shows_its_last_form_only() -> None:
    stage = Stage()
    shown = stage.show(tool("get", "execute"), _printed("10%\r50%\r"), _printed("100%\r\n"), done())
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


def test_notices_are_single_lines_with_a_count() -> None:
    stage = Stage()
    shown = stage.show(
        Notice(level="info", text="Resumed."),
        Notice(level="warning", text="A line was skipped.", count=3),
        Notice(level="error", text="The log is full."),
    )
    assert shown == "· Resumed.\n! A line was skipped. (×3)\n✗ The log is full.\n"


def test_an_error_card_says_what_happened_what_to_do_and_the_last_words() -> None:
    stage = Stage(width=60)
    details = ErrorDetails(
        suggestion="Go on with: portico exec --continue",
        agent="claude",
        exit_status="exit code 1",
        stderr="".join(f"line {number}\n" for number in range(10)) + "\x1b[31mout of memory\x1b[0m\n",
    )
    crashed = ErrorReported(
        code=ErrorCode.AGENT_CRASHED, message="The agent stopped.", recoverable=True, details=details
    )
    shown = stage.show(RUNNING, tool("Fetch a page", "fetch"), crashed, ended(TurnState.FAILED, tools=1))
    assert shown == picture(
        """
        ■ ↓ Fetch a page  not finished

        ▌ The agent stopped.
        ▌ Go on with: portico exec --continue
        ▌
        ▌ … 3 earlier lines
        ▌ line 3
        ▌ line 4
        ▌ line 5
        ▌ line 6
        ▌ line 7
        ▌ line 8
        ▌ line 9
        ▌ out of memory
        ▌ AGENT_CRASHED · claude · exit code 1

        ✗ failed · 2.3s · 1 tool
        """
    )


def test_a_permission_card_shows_the_command_and_the_agents_own_options() -> None:
    stage = Stage()
    stage.show(RUNNING, permission(), pause=0.06)
    assert stage.screen.text.endswith("Waiting for an answer · Ctrl-C stops\n")
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
        stage.show(_printed("meanwhile\n"), Notice(level="info", text="Something else."))
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
    shown = stage.show(done(content=(part,)))
    assert shown.splitlines()[-1] == "✓ ✎ Edit a.py +1 −1  0.2s"


@pytest.mark.parametrize(
    ("resolved", "line"),
    [
        (
            PermissionResolved(request_id="p1", outcome="denied", by="nobody"),
            "✗ Denied: Run npm test, nobody could be asked",
        ),
        (
            PermissionResolved(
                request_id="p1", outcome="allowed", by="policy", rule="execute:npm*", option_id="once"
            ),
            "✓ Allowed (Allow once): Run npm test, by the rule execute:npm*",
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


@pytest.mark.parametrize(
    ("state", "footer"),
    [(TurnState.CANCELED, "■ stopped · 2.3s\n"), (TurnState.INTERRUPTED, "■ interrupted · 2.3s\n")],
)
def test_a_turn_that_was_stopped_says_so(state: TurnState, footer: str) -> None:
    assert Stage().show(RUNNING, ended(state)) == footer


def test_an_image_in_the_answer_is_named() -> None:
    image = TextDelta(text="", block=Raw(b'{"type":"image","mimeType":"image/png","data":"AAAA"}'))
    assert Stage().show(text("See:"), image) == "See:\n\n[image image/png]\n"


def test_a_session_that_is_read_again_shows_its_prompts() -> None:
    shown = Stage(prompts="shown").show(
        PromptSubmitted(text="Do it"), RUNNING, text("Done."), ended(), PromptSubmitted(text="Again")
    )
    assert shown == "❯ Do it\n\nDone.\n\n✓ 2.3s\n\n❯ Again\n"


def test_below_a_prompt_just_typed_is_a_blank_line() -> None:
    stage = Stage(prompts="typed")
    stage.screen.write("❯ Do it\n")
    assert stage.show(PromptSubmitted(text="Do it"), text("Done.")) == "❯ Do it\n\nDone.\n"


def test_the_live_part_never_outgrows_the_terminal() -> None:
    stage = Stage(height=8)
    stage.show(RUNNING, text("word " * 400))
    stage.show(tool("make", "execute"), _printed("x\n" * 50), text("more " * 300), ended())
    assert stage.screen.text.count("word") == 400
    assert stage.screen.text.count("more") == 300


def test_a_long_fence_is_written_once_line_by_line_below_a_small_terminal() -> None:
    stage = Stage(height=8)
    stage.show(RUNNING, text("```python\n"))
    for number in range(100):
        stage.show(text(f"value_{number} = {number}\n"))
    stage.show(text("```\n"), ended())
    lines = stage.screen.text.splitlines()
    assert lines[:100] == [f"  value_{number} = {number}" for number in range(100)]


EVERY_KIND: list[AnyPayload] = [
    started(),
    PromptSubmitted(text="Do it"),
    RUNNING,
    Thinking(text="Hm."),
    text("**Answer** with [a link](https://example.org)."),
    tool("Read a.py", "read"),
    done(),
    PlanUpdated(entries=(PlanEntry(content="one"),)),
    permission(),
    PermissionResolved(request_id="p1", outcome="denied", by="policy"),
    Notice(level="warning", text="Careful."),
    ErrorReported(code=ErrorCode.INTERNAL, message="Broken.", recoverable=False),
    ended(TurnState.FAILED),
]


def test_without_colour_nothing_is_coloured_and_all_words_are_there() -> None:
    coloured, plain = Stage(colour=True), Stage(colour=False)
    coloured.show(*EVERY_KIND)
    plain.show(*EVERY_KIND)
    assert "\x1b[3" in coloured.screen.raw
    assert "\x1b[3" not in plain.screen.raw
    assert plain.screen.text.replace(" (https://example.org)", "") == coloured.screen.text


def test_ending_twice_writes_nothing_more() -> None:
    stage = Stage()
    stage.show(RUNNING, text("Half an answ"))
    first = stage.end()
    assert first == "Half an answ\n"
    assert stage.end() == first
    assert stage.screen.cursor_at_line_start


def _printed(output: str, exit_code: int | None = None) -> ToolUpdated:
    terminal = TerminalOutput(terminal_id="t", text=output, exit_code=exit_code, ended=exit_code is not None)
    return ToolUpdated(tool_id="c1", terminal=terminal)
