"""Output for pipes, files and terminals without control sequences."""

import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
from msgspec import Raw

from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.events import (
    ErrorReported,
    Notice,
    PermissionResolved,
    PlanUpdated,
    PromptSubmitted,
    TextDelta,
    Thinking,
    ToolCompleted,
    ToolUpdated,
    UsageUpdated,
)
from portico.domain.problems import FileProblems, Problem
from portico.domain.turns import TurnState
from portico.domain.values import DiffPart, PlanEntry, TextPart
from portico.doors.terminal.render.plain_renderer import PlainRenderer
from tests.doors.terminal.support import RUNNING, ended, feed, permission, printed, started, text, tool


class Outputs:
    """The two outputs of a plain renderer, and both in the order in which they were written."""

    def __init__(self) -> None:
        self.answer = ""
        self.notes = ""
        self.both = ""

    def to(self, name: str) -> Callable[[str], None]:
        def write(words: str) -> None:
            setattr(self, name, getattr(self, name) + words)
            self.both += words

        return write


def renderer_on(outputs: Outputs, *, terminal: bool = False) -> PlainRenderer:
    return PlainRenderer(outputs.to("answer"), outputs.to("notes"), terminal=terminal)


def test_the_answer_is_passed_on_exactly_and_ends_with_a_newline() -> None:
    outputs = Outputs()
    feed(renderer_on(outputs), RUNNING, text("# Tit"), text("le\n\n**bold** \x1b[31m"), text("last"), ended())
    assert outputs.answer == "# Title\n\n**bold** \x1b[31mlast\n"


def test_an_answer_that_ends_with_a_newline_gets_no_other() -> None:
    outputs = Outputs()
    renderer = renderer_on(outputs)
    feed(renderer, text("all\n"), ended())
    renderer.finish()
    assert outputs.answer == "all\n"


def test_each_delta_is_written_as_it_comes() -> None:
    outputs = Outputs()
    feed(renderer_on(outputs), text("half a li"))
    assert outputs.answer == "half a li"


def test_two_messages_with_a_tool_between_are_two_paragraphs() -> None:
    outputs = Outputs()
    done = ToolCompleted(tool_id="c1", success=True, duration_ms=50)
    feed(renderer_on(outputs), text("Looking."), tool("Read a.py"), done, text("Found."), ended())
    assert outputs.answer == "Looking.\n\nFound.\n"


def test_two_messages_with_different_ids_are_two_paragraphs() -> None:
    outputs = Outputs()
    feed(renderer_on(outputs), TextDelta(text="one", message_id="a"), TextDelta(text="two", message_id="b"))
    assert outputs.answer == "one\n\ntwo"


def test_everything_else_is_one_calm_line_each_on_the_other_output() -> None:
    outputs = Outputs()
    feed(
        renderer_on(outputs),
        started(),
        RUNNING,
        Thinking(text="secret thoughts"),
        PlanUpdated(
            entries=(PlanEntry(content="Find it", status="in_progress"), PlanEntry(content="Fix it"))
        ),
        PlanUpdated(
            entries=(PlanEntry(content="Find it", status="in_progress"), PlanEntry(content="Fix it"))
        ),
        tool("`Edit /work/app/a.py`", "edit"),
        permission("Edit a.py", "edit"),
        PermissionResolved(request_id="p1", outcome="allowed", by="policy", rule="edit:*", option_id="once"),
        ToolCompleted(
            tool_id="c1",
            success=True,
            duration_ms=1234,
            content=(DiffPart(path="/work/app/a.py", new_text="x"),),
        ),
        tool("make", "execute"),
        ToolCompleted(tool_id="c1", success=False, duration_ms=0),
        Notice(level="warning", text="A line was\nskipped.", count=2),
        UsageUpdated(input_tokens=900, output_tokens=100, cost=0.5, currency="EUR"),
        ended(tools=2),
    )
    assert outputs.answer == ""
    assert outputs.notes.splitlines() == [
        "plan 0/2: Find it",
        "permission needed: Edit a.py",
        "allowed (Allow once): Edit a.py, by the rule edit:*",
        "done: Edit a.py (1.2s)",
        "  changed a.py",
        "failed: make",
        "warning: A line was skipped. (×2)",
        "2.3s, 2 tools, 1.0k tokens, 0.50 EUR",
    ]


def test_the_end_of_what_a_command_printed_stands_below_it() -> None:
    outputs = Outputs()
    feed(
        renderer_on(outputs),
        tool("make", "execute"),
        printed("".join(f"line {number}\n" for number in range(1, 31))),
        printed("10 %\r100 %\n\x1b[31mred\x1b[0m\x1b]0;title\x07\n"),
        ToolCompleted(tool_id="c1", success=True, duration_ms=0),
    )
    assert outputs.answer == ""
    shown = [f"  | line {number}" for number in range(25, 31)]
    assert outputs.notes.splitlines() == [
        "done: make",
        "  | … 24 earlier lines",
        *shown,
        "  | 100 %",
        "  | red",
    ]


def test_a_command_that_failed_shows_more_of_it_and_one_without_words_nothing() -> None:
    outputs = Outputs()
    renderer = renderer_on(outputs)
    lines = "".join(f"line {number}\n" for number in range(1, 13))
    failed = ToolCompleted(tool_id="c1", success=False, duration_ms=0)
    feed(renderer, tool("make", "execute"), printed(lines), failed)
    assert outputs.notes.splitlines() == ["failed: make", *(f"  | {line}" for line in lines.splitlines())]
    outputs.notes = ""
    feed(renderer, tool("true", "execute"), printed(""), failed)
    assert outputs.notes == "failed: true\n"


def test_a_command_that_an_agent_ran_by_itself_shows_what_the_agent_says_it_printed() -> None:
    outputs = Outputs()
    said = (TextPart(text="3 passed\n"),)
    done = ToolCompleted(tool_id="c1", success=True, duration_ms=0, content=said)
    feed(renderer_on(outputs), tool("pytest", "execute"), done, tool("Read a.py", "read"), done)
    assert outputs.notes.splitlines() == ["done: pytest", "  | 3 passed", "done: Read a.py"]


def test_an_error_names_its_code_what_to_do_and_the_last_words() -> None:
    outputs = Outputs()
    details = ErrorDetails(suggestion="Install it.", stderr="one\n\x1b[31mtwo\x1b[0m\n")
    error = ErrorReported(
        code=ErrorCode.AGENT_NOT_FOUND, message="There is no agent.", recoverable=True, details=details
    )
    feed(renderer_on(outputs), error, ended(TurnState.FAILED))
    assert outputs.notes.splitlines() == [
        "error: There is no agent. [AGENT_NOT_FOUND]",
        "  Install it.",
        "  | one",
        "  | two",
        "failed, 2.3s",
    ]


def test_a_question_lists_the_command_and_the_options() -> None:
    outputs = Outputs()
    renderer = renderer_on(outputs)
    with renderer.question(permission()):
        assert outputs.notes.splitlines() == [
            "  npm test --silent",
            "  1  Allow once (y)",
            "  2  Always allow npm (a)",
            "  3  Reject (n)",
        ]


def test_while_a_question_is_open_nothing_else_is_written_and_then_all_of_it() -> None:
    outputs = Outputs()
    renderer = renderer_on(outputs, terminal=True)
    second = msgspec.structs.replace(permission("Run make"), request_id="p2")
    finished = ToolCompleted(tool_id="c1", success=True, duration_ms=0)
    feed(renderer, permission(), tool("Read a.py"))
    with renderer.question(permission()):
        asked = outputs.both
        feed(renderer, text("Meanwhile"), finished, second)
        assert outputs.both == asked
    assert outputs.both == f"{asked}Meanwhile\ndone: Read a.py\npermission needed: Run make\n"


def test_a_question_says_again_what_it_is_about_when_another_was_announced_after_it() -> None:
    outputs = Outputs()
    renderer = renderer_on(outputs)
    feed(
        renderer, permission("Run npm test"), msgspec.structs.replace(permission("Run make"), request_id="p2")
    )
    with renderer.question(permission("Run npm test")):
        assert [line for line in outputs.notes.splitlines() if line.startswith("permission")] == [
            "permission needed: Run npm test",
            "permission needed: Run make",
            "permission needed: Run npm test",
        ]


def test_on_a_simple_terminal_the_answer_is_made_safe_and_notes_begin_on_a_fresh_line() -> None:
    outputs = Outputs()
    renderer = renderer_on(outputs, terminal=True)
    done = ToolCompleted(tool_id="c1", success=True, duration_ms=0)
    feed(renderer, text("red \x1b[3"), text("1mtext"), tool("Read a.py"), done, text("More"), ended())
    assert outputs.both == "red text\ndone: Read a.py\nMore\n2.3s\n"


def test_prompts_are_shown_when_a_session_is_read_again() -> None:
    outputs = Outputs()
    renderer = PlainRenderer(outputs.to("answer"), outputs.to("notes"), prompts="shown")
    feed(renderer, PromptSubmitted(text="Do it"), text("Done."), ended(), PromptSubmitted(text="Again"))
    assert outputs.answer == "> Do it\n\nDone.\n> Again\n\n"


def test_what_was_sent_along_stands_below_the_prompt() -> None:
    outputs = Outputs()
    renderer = PlainRenderer(outputs.to("answer"), outputs.to("notes"), prompts="shown")
    image = Raw(b'{"type":"image","mimeType":"image/png","data":"AAAA"}')
    feed(renderer, PromptSubmitted(text="Look", blocks=(image,)), PromptSubmitted(text="", blocks=(image,)))
    picture = "[image: image/png, 3 bytes]"
    assert outputs.answer == f"> Look\n> {picture}\n\n> {picture}\n\n"


def test_the_details_of_a_notice_are_indented() -> None:
    outputs = Outputs()
    feed(renderer_on(outputs), Notice(level="info", text="Compacted.", details="We fixed\nthe parser.\n"))
    assert outputs.notes == "info: Compacted.\n  We fixed\n  the parser.\n"


def test_an_image_is_named() -> None:
    outputs = Outputs()
    link = Raw(b'{"type":"resource_link","name":"notes","uri":"file:///n.md"}')
    feed(renderer_on(outputs), TextDelta(text="", block=link))
    assert outputs.answer == "[file: notes, file:///n.md]"


def test_plain_output_loads_no_library_for_terminals() -> None:
    program = (
        "import io, sys\n"
        "from portico.doors.terminal.render.renderer import make_renderer\n"
        "import portico.doors.terminal.input.permission_prompt, portico.doors.terminal.render.session_table\n"
        "import portico.doors.terminal.input.chat_input, portico.doors.terminal.render.banner\n"
        "make_renderer(sys.stdout, sys.stderr, term='xterm').finish()\n"
        "heavy = {'rich', 'prompt_toolkit', 'markdown_it', 'pygments'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or None)\n"
    )
    environ = {**os.environ, "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_tool_call_that_was_never_announced_has_short_paths_too() -> None:
    outputs = Outputs()
    done = ToolCompleted(tool_id="c9", success=True, duration_ms=0, title="Edit /work/app/src/a.py")
    feed(renderer_on(outputs), started(workspace="/work/app"), done)
    assert "done: Edit src/a.py" in outputs.notes


def test_a_tool_that_only_reads_is_shown_as_read_only() -> None:
    outputs = Outputs()
    looks = msgspec.structs.replace(tool("math: look"), read_only=True)
    feed(renderer_on(outputs), looks, ToolCompleted(tool_id="c1", success=True, duration_ms=0))
    assert "done: math: look (read-only)" in outputs.notes


def test_problems_that_a_call_added_and_solved_are_told_after_it() -> None:
    outputs = Outputs()
    problems = (
        FileProblems(
            path="/work/app/a.py",
            added=(Problem(line=3, severity="error", message="unknown name"),),
            removed=(Problem(line=9, severity="warning", message="unused"),),
        ),
    )
    feed(
        renderer_on(outputs),
        started(workspace="/work/app"),
        tool("Edit a.py", "edit"),
        ToolCompleted(tool_id="c1", success=True, duration_ms=0),
        ToolUpdated(tool_id="c1", problems=problems),
        ended(),
    )
    assert "new error: a.py:3  unknown name" in outputs.notes
    assert "1 problem solved: a.py" in outputs.notes
    assert "not finished" not in outputs.notes
