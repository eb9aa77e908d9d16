"""`portico trace show` as a sequence diagram: one arrow for each message, with labels that fit."""

import io
from pathlib import Path
from textwrap import dedent

import pytest

from portico.conductor.tracing.reader import TraceFile
from portico.doors.terminal.labels import display_width
from portico.doors.terminal.trace.diagram_labels import ASCII_STROKES
from portico.doors.terminal.trace.printer import TraceLayout, draw_chain, show_trace
from tests.tracing.support import Script

PROMPT = [{"type": "text", "text": "What is a door?"}]


def drawn(script: Script, folder: Path, look: TraceLayout | None = None) -> str:
    file = TraceFile.open(script.write(folder / "t.jsonl"))
    lines = (line for chain in file.chains for line in draw_chain(file, chain, look or TraceLayout()))
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def styles(script: Script, folder: Path) -> dict[str, str]:
    """Style of each piece of text."""
    file = TraceFile.open(script.write(folder / "t.jsonl"))
    return {
        text.strip(): style
        for line in draw_chain(file, file.chains[0], TraceLayout())
        for text, style in line
    }


def conversation() -> Script:
    """A turn through two proxies: one looks at all there is, the other adds to prompts."""
    script = Script("permissions", "context")
    script.ask("editor→permissions→agent", 1, "initialize", clientInfo={"name": "zed", "version": "2"})
    script.pause(20)
    script.answer("agent→editor", 1, agentInfo={"name": "porter", "version": "1"})
    script.ask("editor→agent", 2, "session/new", cwd="/home/me/project", mcpServers=[])
    script.pause(3).answer("agent→editor", 2, sessionId="s1")
    script.ask("editor→context", 3, "session/prompt", sessionId="s1", prompt=PROMPT)
    more = [*PROMPT, {"type": "resource", "resource": {}}]
    script.ask("context→agent", 3, "session/prompt", sessionId="s1", prompt=more)
    script.pause(100)
    for word in ("A ", "way ", "in."):
        script.chunk("agent→permissions→editor", word).pause(1)
    script.ask(
        "agent→permissions", 1, "session/request_permission", sessionId="s1", toolCall={"title": "Look"}
    )
    script.ask("permissions→editor", "portico-0a1b2c3d-4", "session/request_permission", sessionId="s1")
    script.pause(2500)
    script.answer(
        "editor→permissions", "portico-0a1b2c3d-4", outcome={"outcome": "selected", "optionId": "yes"}
    )
    script.answer("permissions→agent", 1, outcome={"outcome": "selected", "optionId": "yes"})
    script.fail("agent→editor", 3, -32603, "the model is busy")
    return script


def test_a_conversation_reads_from_top_to_bottom(tmp_path: Path) -> None:
    assert drawn(conversation(), tmp_path) == dedent("""\
        chain 1  2027-01-15 12:00:00.000 UTC

                  ┌ editor
                  │     ┌ permissions
                  │     │     ┌ context
                  │     │     │     ┌ agent
            0.000 ├─────●─────┼────►│  initialize #1 zed 2
            0.020 │◄╌╌╌╌┼╌╌╌╌╌┼╌╌╌╌╌┤  initialize #1 ✓ 20ms porter 1
                  ├─────┼─────┼────►│  session/new #2 project
            0.023 │◄╌╌╌╌┼╌╌╌╌╌┼╌╌╌╌╌┤  session/new #2 ✓ 3ms s1
                  ├─────┼─────◆────►│  session/prompt #3 “What is a door?” +1 block
                  │     │     │     │  ◆ context: +prompt[1]
            0.123 │◅────●─────┼─────┤  session/update ×3 in 2ms
                  │     │     │     │    agent_message_chunk “A way in.”
            0.126 │     │◄────┼─────┤  session/request_permission #1 “Look”
                  │◄────◆     │     │  session/request_permission #p4
                  │     │     │     │  ◆ permissions: -toolCall
                  ┊     ┊     ┊     ┊  2.5s later
            2.626 ├╌╌╌╌►│     │     │  session/request_permission #p4 ✓ 2.5s
                  │     │     │     │    selected yes
                  │     ├╌╌╌╌╌┼╌╌╌╌►│  session/request_permission #1 ✓ 2.5s selected yes
                  │◄╌╌╌╌┼╌╌╌╌╌┼╌╌╌╌╌┤  session/prompt #3 ✗ 2.6s -32603 the model is busy
                  │     │     │     └ agent
                  │     │     └ context
                  │     └ permissions
                  └ editor

        18 frames in 2.6s, 11 arrows, 1 error
        ● inspected and forwarded   ◆ changed   ┼ not involved
    """)


@pytest.mark.parametrize("proxies", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("full", [False, True])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, proxies: int, width: int, full: bool) -> None:
    names = [f"proxy-with-a-name-{number}" for number in range(proxies)]
    script = Script(*names)
    path = "→".join(script.links)
    script.ask(path, "0b5c5a52-1111-2222", "session/request_permission", toolCall={"title": "看" * 200})
    script.chunk("→".join(reversed(script.links)), "words and 👩‍💻 " * 50)
    script.fail("→".join(reversed(script.links)), "0b5c5a52-1111-2222", -1, "no " * 100)
    script.add(type="fault", **{"from": "agent"}, kind="not_json", detail="x" * 200, sample="y" * 200, size=9)
    script.add(type="closed", gone="agent")
    text = drawn(script, tmp_path, TraceLayout(width=width, full=full))
    assert max(display_width(line) for line in text.splitlines()) <= width
    assert "session/request_permission"[:8] in text


def test_the_same_news_again_and_again_is_one_arrow(tmp_path: Path) -> None:
    script = Script()
    for number in range(1234):
        script.chunk("agent→editor", f"{number} ")
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress"}
    for _ in range(5):
        script.tell("agent→editor", "session/update", sessionId="s1", update=update)
    script.tell("agent→editor", "session/update", sessionId="s1", update={**update, "status": "completed"})
    text = drawn(script, tmp_path)
    assert text.count("◅") == 3
    assert "×1,234 agent_message_chunk “0 1 2 3" in text
    assert "×5 tool_call_update in_progress t1" in text
    assert "1240 frames in <1ms, 3 arrows" in text


def test_a_run_is_one_arrow_even_if_a_program_on_the_way_takes_its_time(tmp_path: Path) -> None:
    script = Script("slow")
    for _ in range(3):
        script.chunk("agent→slow", "a").chunk("agent→slow", "b")
        script.chunk("slow→editor", "a").chunk("slow→editor", "b")
    text = drawn(script, tmp_path)
    assert text.count("session/update ×6 agent_message_chunk “ababab”") == 1
    assert "│◅───────●────────┤" in text


def test_what_a_proxy_kept_to_itself_is_not_counted_as_passed_on(tmp_path: Path) -> None:
    script = Script("strict")
    for word in ("a", "b", "c"):
        script.chunk("agent→strict", word)
    text = drawn(script.chunk("strict→editor", "c"), tmp_path)
    assert "│        │◅───────┤  session/update ×3 agent_message_chunk “abc”" in text
    assert "│◅───────┤        │  session/update agent_message_chunk “c”" in text


def test_a_pause_ends_a_run(tmp_path: Path) -> None:
    text = drawn(Script().chunk("agent→editor", "a").pause(1500).chunk("agent→editor", "b"), tmp_path)
    assert text.count("session/update agent_message_chunk") == 2
    assert "1.5s later" in text


def test_what_a_program_changed_is_seen_although_ids_differ(tmp_path: Path) -> None:
    script = Script("node")
    script.ask("editor→node", 3, "session/prompt", sessionId="s1", prompt=PROMPT)
    script.ask(
        "node→agent", "portico-0a1b2c3d-7", "session/prompt", sessionId="s1", prompt=[*PROMPT, *PROMPT]
    )
    script.answer("agent→node", "portico-0a1b2c3d-7", stopReason="end_turn")
    script.answer("node→editor", 3, stopReason="refusal")
    text = drawn(script, tmp_path)
    assert "session/prompt #p7" in text
    assert "◆ node: +prompt[1]" in text
    assert "◆ node: ~stopReason" in text


def test_a_wrapped_message_shows_what_is_inside(tmp_path: Path) -> None:
    inner = {"method": "session/update", "params": {"update": {"sessionUpdate": "plan", "entries": []}}}
    text = drawn(
        Script().send("agent→editor", {"method": "_proxy/successor/notification", "params": inner}), tmp_path
    )
    assert "proxy/successor session/update plan 0/0" in text


def test_frames_of_a_program_are_shown_in_full_alone(tmp_path: Path) -> None:
    script = Script("node").ask("editor→node", 1, "initialize")
    frame = {"jsonrpc": "2.0", "id": "n1", "method": "proxy/successor", "params": {"method": "initialize"}}
    script.add(type="wire", link="node", direction="received", frame=frame)
    script.add(type="wire", link="node", direction="sent", frame="what?")
    assert "node" not in drawn(script, tmp_path).replace("┌ node", "").replace("└ node", "")
    text = drawn(script, tmp_path, TraceLayout(full=True))
    assert "node sends proxy/successor initialize #n1" in text
    assert "node gets something else" in text


def test_in_full_nothing_is_left_out(tmp_path: Path) -> None:
    script = conversation().chunk("agent→editor", f"begin {'x' * 500} end")
    text = drawn(script, tmp_path, TraceLayout(full=True))
    assert text.count("session/update agent_message_chunk") == 4
    body = "".join(line[32:].strip() for line in text.splitlines())
    assert "x" * 500 in body
    assert '"type": "resource"' in text


def test_errors_are_red_and_nothing_else_is(tmp_path: Path) -> None:
    look = styles(conversation(), tmp_path)
    assert look["-32603 the model is busy"] == "red"
    assert look["✗"] == "red"
    assert look["✓"] == "green"
    assert [text for text, style in look.items() if style == "red" and "model" not in text] == [
        "◄╌╌╌╌┼╌╌╌╌╌┼╌╌╌╌╌┤",
        "session/prompt",
        "✗",
        ", 1 error",
    ]


def test_what_went_wrong_is_told_where_it_happened(tmp_path: Path) -> None:
    script = Script("permissions")
    script.ask("editor→conductor", 1, "session/new").fail("conductor→editor", 1, -32600, "too early")
    script.ask("editor→agent", 2, "session/prompt", prompt=PROMPT)
    script.add(
        type="fault",
        **{"from": "agent"},
        kind="not_json",
        detail="invalid character",
        sample="Hello!",
        size=6,
    )
    script.pause(30).add(type="closed", gone="agent")
    text = drawn(script, tmp_path)
    assert "├───►    │        │  session/new #1" in text
    assert "│◄╌╌╌●   │        │  session/new #1 ✗ <1ms -32600 too early" in text
    assert "│        │    ×───┤  not_json: invalid character" in text
    assert "│        │        │    Hello!" in text
    assert "×  the agent exited" in text
    assert "editor still waits for session/prompt #2 after 30ms" in text


def test_an_agent_cannot_draw_on_the_terminal(tmp_path: Path) -> None:
    script = Script().chunk("agent→editor", "\x1b[2J\x1b]0;owned\x07 \u202egood\r\n\x00")
    script.tell("agent→editor", "_\x1b[31mred", words="\x1b[2J")
    script.ask("agent→editor", 1, "fs/read_text_file", path="/a\x1b[2Jb\u202ec")
    for full in (False, True):
        text = drawn(script, tmp_path, TraceLayout(full=full))
        assert "\x1b" not in text
        assert "\u202e" not in text


@pytest.mark.parametrize(
    "frame",
    [
        {"method": "session/update", "params": {"update": []}},
        {"method": "session/update", "params": "words"},
        {"method": "session/prompt", "params": {"prompt": "words"}},
        {"id": 1, "method": "session/request_permission", "params": {"toolCall": 3, "options": {}}},
        {"id": None, "result": None},
        {"id": 99, "result": {"sessionId": 3}},
        {"method": 5},
        {},
    ],
)
def test_any_frame_can_be_drawn(tmp_path: Path, frame: dict[str, object]) -> None:
    for full in (False, True):
        assert "1 frame " in drawn(Script().send("agent→editor", frame), tmp_path, TraceLayout(full=full))


@pytest.mark.parametrize("hop", [("agent", "agent"), ("nobody", "agent"), ("editor", "nobody"), ("x", "y")])
def test_a_frame_between_links_that_make_no_sense_is_drawn_as_well_as_can_be(
    tmp_path: Path, hop: tuple[str, str]
) -> None:
    ends = dict(zip(("from", "to"), hop, strict=True))
    frame = {"jsonrpc": "2.0", "method": "_some/news", "params": {}}
    script = Script().add(type="frame", direction="to_agent", frame=frame, **ends)
    assert "_some/news" in drawn(script, tmp_path)


def test_an_output_without_unicode_gets_signs_it_has(tmp_path: Path) -> None:
    text = drawn(conversation(), tmp_path, TraceLayout(strokes=ASCII_STROKES))
    diagrams = [line[10:29] for line in text.splitlines()[2:-3]]
    assert all(diagram.isascii() for diagram in diagrams)
    assert "|-----+-----*---->|" in diagrams


def test_a_pipe_gets_no_colours(tmp_path: Path) -> None:
    file = TraceFile.open(conversation().write(tmp_path / "t.jsonl"))
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    show_trace(file, file.chains, output, term="xterm-256color", columns=80)
    output.seek(0)
    assert output.read() == drawn(conversation(), tmp_path)
