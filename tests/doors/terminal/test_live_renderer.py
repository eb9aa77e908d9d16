"""Every kind of event in the live renderer, while it happens and afterwards."""

import pytest
from msgspec import Raw

from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.events import (
    AnyPayload,
    ErrorReported,
    Notice,
    PermissionResolved,
    PlanUpdated,
    PromptSubmitted,
    StateChanged,
    TextDelta,
    Thinking,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from portico.domain.values import PlanEntry
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
    assert stage.show(started(), starting, pause=0.06) == "⠙ Starting porter · Ctrl-C to stop\n"
    stage.wait(3)
    assert stage.screen.text.endswith("Starting porter · 3s · Ctrl-C to stop\n")
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


@pytest.mark.parametrize(
    ("state", "footer"),
    [(TurnState.CANCELED, "■ stopped · 2.3s\n"), (TurnState.INTERRUPTED, "■ interrupted · 2.3s\n")],
)
def test_a_turn_that_was_stopped_says_so(state: TurnState, footer: str) -> None:
    assert Stage().show(RUNNING, ended(state)) == footer


def test_an_image_in_the_answer_is_named() -> None:
    image = TextDelta(text="", block=Raw(b'{"type":"image","mimeType":"image/png","data":"AAAA"}'))
    assert Stage().show(text("See:"), image) == "See:\n\n[image: image/png, 3 bytes]\n"


def test_what_was_sent_along_stands_below_the_prompt() -> None:
    image = Raw(b'{"type":"image","mimeType":"image/png","data":"AAAA","uri":"file:///tmp/a%1B[2J.png"}')
    link = Raw(b'{"type":"resource_link","name":"src/a.py","uri":"file:///w/src/a.py","size":2048}')
    prompt = PromptSubmitted(text="Look", blocks=(image, link))
    below = "  [image: a.png, 3 bytes]\n  [file: src/a.py, 2 KB]\n"
    assert Stage(prompts="shown").show(prompt) == f"❯ Look\n{below}"
    assert Stage(prompts="typed").show(prompt) == below
    assert "image" not in Stage(prompts="hidden").show(prompt)


def test_a_notice_shows_the_first_lines_of_its_details() -> None:
    details = "\n".join(f"line {number}\x1b[2J" for number in range(1, 10))
    shown = Stage().show(Notice(level="info", text="Compacted.", details=details))
    assert shown.splitlines()[0].endswith("Compacted.")
    assert "line 6" in shown
    assert "line 7" not in shown
    assert "3 more lines" in shown


def test_a_turn_that_the_agent_remembers_has_no_duration() -> None:
    end = TurnEnded(state=TurnState.COMPLETED, stop_reason="retold", duration_ms=0, tools_used=2)
    shown = Stage(prompts="shown").show(
        PromptSubmitted(text="One"), text("Done."), end, PromptSubmitted(text="Two")
    )
    assert shown == "❯ One\n\nDone.\n\n✓ replayed by the agent · 2 tools\n\n❯ Two\n"


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
    stage.show(tool("make", "execute"), printed("x\n" * 50), text("more " * 300), ended())
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
