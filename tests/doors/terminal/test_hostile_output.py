"""Output of a model, a file name or a command that must not affect the terminal.

`Screen` fails on every sequence but the few a renderer needs, so showing is the test.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.events import (
    AnyPayload,
    ErrorReported,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PlanUpdated,
    PromptSubmitted,
    Thinking,
    ToolCompleted,
    ToolUpdated,
)
from portico.domain.values import DiffPart, Location, PermissionOption, PlanEntry, TerminalOutput, TextPart
from portico.doors.terminal.render.plain_renderer import PlainRenderer
from tests.doors.terminal.support import RUNNING, Stage, ended, feed, started, text, tool

ATTACKS = (
    "\x1b[2J\x1b[H",
    "\x1b]0;a new title\x07",
    "\x1b]52;c;c3RvbGVu\x1b\\",
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1bPq#0;2;0;0;0\x1b\\",
    "\x1bc",
    "\x1b[31;8mhidden\x1b[0m",
    "\x9b2J",
    "\x1b",
    "\x1b[",
    "\x1b]0;never ends",
    "\x07\x08\x0b\x0c\x0e\x7f\x00",
    "over\rwritten",
    "\u202eright to left\u202c",
    "\U000e0041\U000e0042",
    "\u2028",
    "[bold red]markup[/]",
    ":smile:",
    "[link=https://evil.example]x[/link]",
    "\ud800",
)


def everything_with(words: str) -> list[AnyPayload]:
    """A turn in which every text a peer can choose is `words`."""
    option = PermissionOption(option_id="o", name=words, kind="allow_once")
    diff = DiffPart(path=words, old_text=f"{words}\nsame\n", new_text=f"same\n{words}\nmore\n")
    request = PermissionRequested(
        request_id="p1",
        tool_id="c2",
        title=words,
        tool_kind="edit",
        options=(option,),
        content=(diff, TextPart(text=words)),
        locations=(Location(path=words),),
        input=Raw(b'{"command":["a\\u001b[2J","b"]}'),
    )
    return [
        started(words),
        PromptSubmitted(text=words),
        RUNNING,
        Thinking(text=words),
        text(
            f"{words} and `{words}` and **{words}**\n\n```python\n{words}\n```\n- {words}\n\n| {words} |\n|---|\n"
        ),
        text(f"[words]({words}) <{words}>\n"),
        tool(words, "execute"),
        ToolUpdated(tool_id="c1", terminal=TerminalOutput(terminal_id="t", text=f"{words}\nmore {words}")),
        ToolCompleted(tool_id="c1", success=False, duration_ms=1, content=(diff, TextPart(text=words))),
        tool(words, "fetch", words),
        PlanUpdated(entries=(PlanEntry(content=words),)),
        request,
        PermissionResolved(request_id="p1", outcome="denied", by="policy", rule=words),
        Notice(level="warning", text=words),
        ErrorReported(
            code=ErrorCode.INTERNAL,
            message=words,
            recoverable=True,
            details=ErrorDetails(suggestion=words, stderr=words, agent=words, exit_status=words),
        ),
        ended(),
    ]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("colour", [True, False])
def test_no_text_from_outside_reaches_the_terminal_as_a_command(attack: str, colour: bool) -> None:
    stage = Stage(height=200, colour=colour, prompts="shown")
    for payload in everything_with(f"before {attack} and after"):
        if isinstance(payload, PermissionRequested):
            with stage.renderer.question(payload):
                pass
        stage.show(payload)
    shown = stage.end()
    assert "before" in shown
    assert "after" in shown
    assert "\u202e" not in shown
    assert not any(ord(character) < 32 and character != "\n" for character in shown)
    assert "evil.example\x1b" not in stage.screen.raw


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.characters(codec=None), max_size=60), st.integers(min_value=1, max_value=60))
def test_random_text_never_breaks_the_screen(words: str, cut: int) -> None:
    stage = Stage(width=40, height=200, prompts="shown")
    pieces = [words[start : start + cut] for start in range(0, len(words), cut)]
    stage.show(RUNNING, *(text(piece) for piece in pieces), *everything_with(words))


def test_an_escape_sequence_cut_in_two_by_streaming_leaves_nothing_behind() -> None:
    stage = Stage()
    assert stage.show(text("red \x1b[3"), text("1mand\x1b"), text("[0m plain")) == "red and plain\n"


def test_a_command_may_colour_its_output_but_not_hide_it_or_move_the_cursor() -> None:
    stage = Stage(colour=True)
    output = "\x1b[32mgreen\x1b[0m \x1b[8mhidden\x1b[28m \x1b[5A\x1b]0;title\x07moved\n"
    printed = ToolUpdated(tool_id="c1", terminal=TerminalOutput(terminal_id="t", text=output))
    shown = stage.show(
        tool("run", "execute"), printed, ToolCompleted(tool_id="c1", success=True, duration_ms=0)
    )
    assert shown == "✓ $ run\n    green hidden moved\n"
    assert "\x1b[2;32mgreen" in stage.screen.raw
    assert "8m" not in stage.screen.raw.replace("\x1b[?2026", "")


@pytest.mark.parametrize(
    ("markdown", "shown", "clickable"),
    [
        ("[docs](https://example.org/a)", "docs", True),
        ("[a file](file:///tmp/a.txt)", "a file", True),
        ("<https://example.org>", "https://example.org", True),
        ("[docs](javascript:alert)", "docs (javascript:alert)", False),
        ("[docs](src/app.py)", "docs (src/app.py)", False),
        ("[https://good.example](https://evil.example)", "https://good.example (https://evil.example)", True),
        ("[good.example](https://evil.example)", "good.example (https://evil.example)", True),
        ("![a picture](https://example.org/a.png)", "[image a picture]", True),
    ],
)
def test_only_harmless_links_are_clickable_and_deceptive_ones_show_their_address(
    markdown: str, shown: str, clickable: bool
) -> None:
    stage = Stage(colour=True)
    assert stage.show(text(markdown)) == f"{shown}\n"
    assert ("\x1b]8;" in stage.screen.raw) is clickable


def test_html_and_markup_are_shown_as_they_were_written() -> None:
    answer = "<b>bold</b> <script>x</script> [bold]y[/bold] :tada:"
    assert Stage().show(text(answer)) == f"{answer}\n"


def test_text_without_a_space_is_broken_at_the_edge() -> None:
    stage = Stage(width=40)
    shown = stage.show(text("x" * 100))
    assert [len(line) for line in shown.splitlines()] == [39, 39, 22]


@pytest.mark.parametrize("attack", ATTACKS)
def test_plain_notes_are_clean_lines_whatever_a_peer_says(attack: str) -> None:
    answer: list[str] = []
    notes: list[str] = []
    renderer = PlainRenderer(answer.append, notes.append, prompts="shown", terminal=True)
    feed(renderer, *everything_with(f"before {attack} and after"))
    renderer.finish()
    for written in ("".join(answer), "".join(notes)):
        assert not any(ord(character) < 32 and character != "\n" for character in written)
        assert "\u202e" not in written
    assert all(note.endswith("\n") and note.count("\n") == 1 for note in notes)
