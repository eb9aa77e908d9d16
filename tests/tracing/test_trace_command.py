"""`--trace`, `portico trace show` and `portico trace replay` with real programs: written down, read, played again."""

import json
import resource
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.support.editor import Editor, proxy_settings, said, typescript_agent
from tests.support.program import PROGRAM, Portico, agent_command
from tests.support.stream import Json
from tests.support.terminal import Terminal
from tests.tracing.support import Script, frames, hops, lines

TURN = [
    {"think": "let me see"},
    {"stream": {"count": 200, "size": 20}},
    {"permission": {"title": "Delete notes.txt", "kind": "delete"}},
    {"tool": {"title": "Look", "kind": "read", "text": "two\nlines"}},
    {"read": {"path": "notes.txt"}},
    {"run": {"command": sys.executable, "args": ["-c", "print('from a terminal')"]}},
    {"plan": ["first", "second"]},
    {"say": " All done."},
]


def replay(trace: Path) -> str:
    return shlex.join([str(PROGRAM), "trace", "replay", str(trace)])


def told(stream: list[Json]) -> list[tuple[str, object]]:
    """A turn without the parts that differ each time: times, and names of terminals."""
    kinds = ("tool_started", "tool_completed", "permission_resolved", "plan_updated", "thinking", "result")
    parts = ("title", "success", "outcome", "entries", "text", "stopReason", "toolsUsed")
    return [
        (line["type"], {name: line["payload"][name] for name in parts if name in line["payload"]})
        for line in stream
        if line["type"] in kinds
    ]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


class TestReplay:
    def test_a_turn_comes_out_as_it_was(self, portico: Portico, trace: Path) -> None:
        (portico.workspace / "notes.txt").write_text("the notes\n")
        flags = ("--allow", "delete", "--allow", "execute")
        was = portico.exec(TURN, *flags, "--trace", str(trace)).stream
        assert "from a terminal" in was.answer
        again = portico.exec("something else", *flags, "--agent-command", replay(trace)).stream
        assert again.answer == was.answer
        assert told(again.lines) == told(was.lines)

    def test_porter_is_played_as_well(self, portico: Portico, trace: Path) -> None:
        (portico.workspace / "a.py").write_text("def door():\n    return 'a way in'\n")
        was = portico.run("exec", "--agent", "porter", "--trace", str(trace), "--api", "/explain door").api
        assert "door" in was["text"]
        again = portico.run("exec", "--agent-command", replay(trace), "--api", "/explain door").api
        assert {**again, "sessionId": "", "durationMs": 0} == {**was, "sessionId": "", "durationMs": 0}

    def test_a_replay_can_be_written_down_and_played_again(self, portico: Portico, trace: Path) -> None:
        second = trace.with_name("second.jsonl")
        was = portico.exec(TURN[:2], "--trace", str(trace)).stream
        portico.exec("again", "--trace", str(second), "--agent-command", replay(trace))
        assert portico.exec("and again", "--agent-command", replay(second)).stream.answer == was.answer

    def test_an_agent_that_crashed_crashes_again(self, portico: Portico, trace: Path) -> None:
        turn = [{"say": "one moment"}, {"crash": {"code": 3}}]
        was = portico.exec(turn, "--trace", str(trace))
        again = portico.exec("x", "--agent-command", replay(trace))
        assert (again.code, again.stream.answer) == (was.code, "one moment")
        assert again.stream.error["code"] == was.stream.error["code"] == "AGENT_CRASHED"

    def test_a_prompt_too_many_is_refused_in_words(self, portico: Portico, trace: Path) -> None:
        portico.exec("say once", "--trace", str(trace))
        editor = Editor(portico, "--agent-command", replay(trace))
        session_id = editor.open_session()
        assert "result" in editor.answer_to(editor.prompt(session_id, "again"))
        refused = editor.answer_to(editor.prompt(session_id, "and again"))
        assert "The recording has no further session/prompt" in refused["error"]["message"]
        assert editor.hang_up().code == 0

    def test_of_several_chains_the_last_is_played_unless_one_is_chosen(
        self, portico: Portico, trace: Path
    ) -> None:
        for word in ("first", "second"):
            portico.exec(f"say {word}", "--trace", str(trace))
        assert portico.exec("x", "--agent-command", replay(trace)).stream.answer == "second"
        chosen = f"{replay(trace)} --chain 1"
        assert portico.exec("x", "--agent-command", chosen).stream.answer == "first"

    def test_a_recording_with_a_broken_line_is_played_without_it(self, portico: Portico, trace: Path) -> None:
        portico.exec("say hello", "--trace", str(trace))
        trace.write_bytes(trace.read_bytes() + b'{"type":"frame","at":')
        ran = portico.run("trace", "replay", str(trace), stdin=b"")
        assert ran.code == 0
        assert f"line {len(trace.read_bytes().splitlines())} of" in ran.err
        assert portico.exec("x", "--agent-command", replay(trace)).stream.answer == "hello"


class TestRecording:
    def test_each_hop_of_a_real_chain_is_there(self, portico: Portico, trace: Path) -> None:
        portico.settings(proxy_settings(node=()))
        flags = ("--trace", str(trace), "--proxy", "node", "--agent-command", typescript_agent(portico))
        # Skills see prompts too.
        editor = Editor(portico, *flags, "--no-component", "skills")
        session_id = editor.open_session()
        editor.answer_to(editor.prompt(session_id, "hello"))
        assert "·node" in said(editor.heard)
        assert editor.hang_up().code == 0
        links = lines(trace)[1]["links"]
        between = links.index("permissions"), links.index("node")
        assert links[: between[0]] == ["editor", "settlement", "notices", "mcp-servers", "local-editor"]
        assert "code" in links[slice(*between)]
        assert links[between[1] :] == ["node", "mcp-bridge", "agent"]
        assert hops(trace, "session/prompt") == ["editor→settlement", "settlement→node", "node→agent"]
        inner = [
            line["frame"]["params"]["method"]
            for line in lines(trace)
            if line["type"] == "wire" and line["frame"].get("method") == "proxy/successor"
        ]
        assert inner[:2] == ["initialize", "session/new"]
        drawn = portico.run("trace", "show", str(trace)).text
        assert "◆ node: +prompt[1]" in drawn
        assert "◆ node: ~update.content" in drawn

    def test_secrets_are_not_in_it(self, portico: Portico, trace: Path) -> None:
        environ = {"MY_TOKEN": "token-of-the-environment"}
        settings = agent_command(state=portico.home / "agent").split()
        agent = {"command": settings[0], "args": settings[1:], "env": {"AGENT_SECRET": "secret-of-the-agent"}}
        portico.settings({"agents": {"mine": agent}})
        editor = Editor(portico, "--agent", "mine", "--trace", str(trace), environ=environ)
        editor.initialize()
        env = [{"name": "GITHUB_TOKEN", "value": "token-of-the-server"}]
        server = {"name": "git", "command": "git-mcp", "args": [], "env": env}
        opened = editor.call("session/new", {"cwd": str(portico.workspace), "mcpServers": [server]})
        words = "env MY_TOKEN\nenv AGENT_SECRET\nsay token-of-the-server"
        editor.answer_to(editor.prompt(opened["result"]["sessionId"], words))
        heard = said(editor.heard)
        assert editor.hang_up().code == 0
        for secret in ("token-of-the-environment", "secret-of-the-agent", "token-of-the-server"):
            assert secret in heard
            assert secret not in trace.read_text()
        assert trace.stat().st_mode & 0o777 == 0o600

    def test_a_chat_can_be_written_down(self, portico: Portico, trace: Path) -> None:
        command = [PROGRAM, "chat", "--agent-command", portico.agent, "--trace", str(trace)]
        ran = portico.run(*map(str, command[1:]), stdin=b"say hello\n/exit\n")
        assert ran.code == 0
        assert "hello" in "".join(json.dumps(one["frame"]) for one in frames(trace))

    @pytest.mark.parametrize("command", ["exec", "chat", "acp"])
    def test_a_file_that_cannot_be_written_is_refused_before_anything_starts(
        self, portico: Portico, tmp_path: Path, command: str
    ) -> None:
        marker = tmp_path / "started"
        agent = shlex.join([sys.executable, "-c", f"open({str(marker)!r}, 'w')"])
        words = ["hello"] if command == "exec" else []
        path = str(tmp_path / "no" / "talk.jsonl")
        ran = portico.run(command, "--agent-command", agent, "--trace", path, *words, stdin=b"hello\n")
        assert (ran.code, ran.out) == (5, b"")
        assert f"portico: The trace {path} cannot be written: No such file or directory." in ran.complaint
        assert not marker.exists()
        assert not (portico.state / "portico.db").exists() or _sessions(portico) == 0

    @pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="a full disk can be had on Linux only")
    def test_a_disk_that_fills_up_ends_the_trace_and_not_the_conversation(
        self, portico: Portico, trace: Path
    ) -> None:
        flags = ("--agent-command", portico.agent, "--trace", str(trace))
        editor = Editor(portico, *flags, environ={"PORTICO_TAP": ""})
        session_id = editor.open_session()
        full = trace.stat().st_size + 5_000
        resource.prlimit(editor.running.pid, resource.RLIMIT_FSIZE, (full, full))
        for _ in range(2):
            answer = editor.answer_to(editor.prompt(session_id, "stream 500 40"))
            assert answer["result"]["stopReason"] == "end_turn"
        assert len(said(editor.heard)) == 2 * 500 * 40
        ended = editor.hang_up()
        assert ended.code == 0
        assert "is not complete: File too large" in ended.err
        assert trace.stat().st_size == full
        shown = portico.run("trace", "show", str(trace))
        assert shown.code == 0
        assert "session/prompt" in shown.text
        assert len(shown.complaint) == 1


class TestShow:
    def test_a_person_reads_arrows_and_a_program_one_object(self, portico: Portico, trace: Path) -> None:
        flags = ("--allow", "delete", "--no-component", "skills")
        portico.exec(TURN[:3], *flags, "--trace", str(trace))
        text = portico.run("trace", "show", str(trace)).text
        assert "session/update ×200" in text
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80
        (chain,) = portico.run("trace", "show", str(trace), "--api").api["chains"]
        prompts = [one for one in chain["frames"] if one["method"] == "session/prompt"]
        assert [(one["from"], one["to"], one["kind"]) for one in prompts] == [
            ("editor", "agent", "request"),
            ("agent", "editor", "response"),
        ]
        assert prompts[1]["durationMs"] >= 0
        assert (chain["gone"], chain["links"][0]) == ("client", "editor")
        full = portico.run("trace", "show", str(trace), "--api", "--full").api["chains"][0]["frames"]
        assert [one["frame"] for one in full] == [one["frame"] for one in frames(trace)]

    def test_one_session_alone_can_be_shown(self, portico: Portico, trace: Path) -> None:
        script = Script()
        for number, name in enumerate(("abc", "xyz"), start=1):
            script.ask("editor→agent", number, "session/new", cwd="/").answer(
                "agent→editor", number, sessionId=name
            )
        script.chunk("agent→editor", "of the first", "abc").chunk("agent→editor", "of the second", "xyz")
        script.write(trace)
        text = portico.run("trace", "show", str(trace), "--session", "a").text
        assert "session/new #1" in text
        assert "of the first" in text
        assert "session/new #2" not in text
        assert "of the second" not in text
        found = portico.run("trace", "show", str(trace), "--session", "xyz", "--api").api["chains"][0][
            "frames"
        ]
        assert [one["kind"] for one in found] == ["request", "response", "notification"]
        unknown = portico.run("trace", "show", str(trace), "--session", "q")
        assert (unknown.code, unknown.complaint) == (
            5,
            ["portico: The trace has no session 'q'.", "  It has: abc, xyz."],
        )

    def test_broken_lines_are_told_by_number_and_the_rest_is_shown(
        self, portico: Portico, trace: Path
    ) -> None:
        good = Script().chunk("agent→editor", "still here").write(trace).read_bytes().splitlines()
        bad = [b"not json", b'{"type":"frame"}', b'{"type":"news","at":"x"}', b"\xff\xfe", b"", b"[]"]
        trace.write_bytes(
            b"\n".join([good[0], bad[0], bad[1], good[1], bad[2], bad[3], bad[4], bad[5], good[2]])
        )
        ran = portico.run("trace", "show", str(trace))
        assert ran.code == 0
        assert [line.split(" of ")[0] for line in ran.complaint] == [
            f"portico: line {number}" for number in (2, 3, 5, 6, 7, 8)
        ]
        assert "still here" in ran.text
        broken = portico.run("trace", "show", str(trace), "--api").api["unreadable"]
        assert [one["line"] for one in broken] == [2, 3, 5, 6, 7, 8]
        assert all(one["problem"] for one in broken)

    @pytest.mark.parametrize(
        ("content", "code"), [(None, 5), (b"", 4), (b"# Notes\n", 4), (b'{"type":"trace"}\n', 4)]
    )
    def test_what_is_no_trace_is_refused(
        self, portico: Portico, trace: Path, content: bytes | None, code: int
    ) -> None:
        if content is not None:
            trace.write_bytes(content)
        for action in ("show", "replay"):
            ran = portico.run("trace", action, str(trace))
            assert (ran.code, ran.out) == (code, b"")
            assert ran.complaint[0].startswith("portico: ")
        assert portico.run("trace", "show", str(trace), "--api").api["status"] == "failed"

    def test_a_trace_in_which_nothing_started_says_so(self, portico: Portico, trace: Path) -> None:
        trace.write_text('{"type":"trace","at":"2027-01-15T12:00:00.000Z","version":1,"portico":"1"}\n')
        ran = portico.run("trace", "show", str(trace))
        assert (ran.code, ran.complaint) == (5, [f"portico: The trace {trace} has no chain."])

    def test_a_terminal_gets_colours_and_lines_that_fit(self, portico: Portico, trace: Path) -> None:
        portico.exec([*TURN[:2], {"error": {"code": -32603, "message": "no luck"}}], "--trace", str(trace))
        environ = portico.environ({"TERM": "xterm-256color"})
        terminal = Terminal([PROGRAM, "trace", "show", trace], cwd=portico.workspace, environ=environ)
        try:
            assert terminal.end() == 0
            shown = terminal.text
            assert "session/update ×200" in shown
            assert max(len(line) for line in shown.splitlines()) <= 100
            assert b"\x1b[31m-32603 no luck" in terminal._seen
        finally:
            terminal.close()


def _sessions(portico: Portico) -> int:
    with sqlite3.connect(portico.state / "portico.db") as database:
        return int(database.execute("select count(*) from sessions").fetchone()[0])
