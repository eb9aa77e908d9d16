"""Faults of the scripted agent: every way in which a bad agent breaks the protocol."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from portico.testing import scripted_agent_command, stream_numbers
from tests.testing.conftest import Start
from tests.testing.driver import DEADLINE, Driver


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ({"raw": {"text": '{"jsonrpc":"2.0", oops\n'}}, b'{"jsonrpc":"2.0", oops\n'),
        ({"raw": {"base64": "wyjDKAo="}}, b"\xc3(\xc3(\n"),
        ({"raw": {"text": "a\u0000b\n"}}, b"a\x00b\n"),
        ({"big": {"bytes": 100_000, "malformed": True}}, b"x" * 100_000 + b"\n"),
    ],
)
def test_any_bytes_can_stand_on_a_line_and_the_turn_goes_on(
    start: Start, step: dict[str, object], line: bytes
) -> None:
    agent = start([step, {"say": "on"}]).open()
    prompt = agent.prompt()
    assert agent.line() == line
    assert not agent.honest()
    agent.answer_to(prompt)
    assert agent.said() == "on"


def test_a_line_can_be_as_long_as_one_likes(start: Start) -> None:
    agent = start([{"big": {"bytes": 5_000_000}}]).open()
    prompt = agent.prompt()
    line = agent.line()
    assert len(line) == 5_000_001
    assert json.loads(line)["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
    agent.answer_to(prompt)
    assert agent.honest()


def test_a_long_line_that_is_too_short_is_a_mistake_of_the_script(start: Start) -> None:
    agent = start([{"big": {"bytes": 10}}]).open()
    assert "at least" in agent.answer_to(agent.prompt())["error"]["message"]


def test_it_answers_what_nobody_asked(start: Start) -> None:
    agent = start([{"respond": {}}, {"respond": {"id": 7, "error": {"code": 1, "message": "m"}}}]).open()
    agent.prompt()
    assert agent.receive() == {"jsonrpc": "2.0", "id": "never-asked", "result": {}}
    assert agent.receive() == {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "m"}}
    assert not agent.honest()


def test_it_crashes_with_a_code_after_so_many_deltas(start: Start) -> None:
    agent = start([{"crash": {"code": 3, "stderr": "out of luck\n", "after": 50}}]).open()
    agent.prompt()
    for _ in range(50):
        agent.receive()
    assert agent.line() == b""
    assert stream_numbers(agent.said()) == list(range(1, 51))
    assert agent.exit_code() == 3
    assert agent.stderr() == "out of luck\n"


def test_it_dies_by_a_signal(start: Start) -> None:
    agent = start([{"crash": {"signal": "SIGABRT"}}]).open()
    agent.prompt()
    assert agent.exit_code() == -signal.SIGABRT


def test_it_can_die_before_it_answers_anything(start: Start) -> None:
    agent = start({"on_initialize": [{"stderr": "no licence\n"}, {"crash": {"code": 9}}]})
    agent.request("initialize", protocolVersion=1)
    assert agent.exit_code() == 9
    assert agent.stderr() == "no licence\n"


def test_it_can_die_in_the_middle_of_a_line(start: Start) -> None:
    agent = start([{"raw": {"text": '{"jsonrpc":'}}, {"crash": {}}]).open()
    agent.prompt()
    assert agent.line() == b'{"jsonrpc":'
    assert agent.line() == b""


def test_it_can_be_deaf_to_everything_but_the_last_signal(start: Start) -> None:
    deaf = {"ignore": ["cancel", "requests", "sigterm", "stdin_close"]}
    agent = start([deaf, {"say": "la la la"}, {"wait_file": "tell"}, {"say": "still here"}, {"hang": {}}])
    agent.open().prompt()
    agent.until_update("agent_message_chunk")
    agent.cancel()
    agent.request("session/list")
    agent.process.terminate()
    agent.hang_up()
    (agent.cwd / "tell").touch()
    assert agent.receive()["params"]["update"]["content"]["text"] == "still here"
    assert agent.process.poll() is None
    agent.process.kill()
    assert agent.exit_code() == -signal.SIGKILL


def test_only_what_is_known_can_be_ignored(start: Start) -> None:
    agent = start([{"ignore": ["taxes"]}]).open()
    assert "taxes" in agent.answer_to(agent.prompt())["error"]["message"]


def test_it_closes_its_stdout_and_lives_on(start: Start, tmp_path: Path) -> None:
    steps = [{"close_stdout": {}}, {"wait_file": "go"}, {"say": "into the void"}, {"crash": {"code": 4}}]
    agent = start(steps).open()
    agent.prompt()
    assert agent.line() == b""
    assert agent.process.poll() is None
    (tmp_path / "go").touch()
    assert agent.exit_code() == 4


def test_nobody_reading_its_output_does_not_stop_it(tmp_path: Path) -> None:
    steps = {"on_prompt": [[{"say": "hello?"}, {"say": "anyone?"}, {"crash": {"code": 4}}]]}
    read_end, write_end = os.pipe()
    command = scripted_agent_command(steps)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=write_end, cwd=tmp_path) as agent:
        os.close(read_end)
        os.close(write_end)
        assert agent.stdin is not None
        for number, method, params in (
            (1, "session/new", {"cwd": str(tmp_path), "mcpServers": []}),
            (2, "session/prompt", {"sessionId": "scripted-1", "prompt": []}),
        ):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            agent.stdin.write(json.dumps(request).encode() + b"\n")
            agent.stdin.flush()
        assert agent.wait(DEADLINE) == 4


# Bit 14 of the mask is SIGTERM.
SIGNALS_IGNORED = re.compile(r"SigIgn:\t[0-9a-f]{12}[4-7c-f][0-9a-f]{3}")


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[Path]:
    """File for the pid of a child; the child does not outlive the test."""
    path = tmp_path / "child.pid"
    yield path
    if path.exists() and psutil.pid_exists(int(path.read_text())):
        os.kill(int(path.read_text()), signal.SIGKILL)


def leave_child(agent: Driver, orphan: Path) -> psutil.Process:
    agent.open().turn()
    child = psutil.Process(int(orphan.read_text()))
    agent.hang_up()
    assert agent.exit_code() == 0
    assert child.is_running()
    return child


def test_it_leaves_a_child_behind(start: Start, orphan: Path) -> None:
    agent = start([{"child": {"pid_file": str(orphan)}}])
    group = os.getpgid(agent.process.pid)
    child = leave_child(agent, orphan)
    assert os.getpgid(child.pid) == group
    child.terminate()
    child.wait(DEADLINE)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells which signals are ignored")
def test_a_child_can_hold_the_pipes_leave_the_group_and_ignore_sigterm(start: Start, orphan: Path) -> None:
    step = {"pid_file": str(orphan), "keep_stdout": True, "new_session": True, "ignore_sigterm": True}
    agent = start([{"child": step}])
    child = leave_child(agent, orphan)
    assert os.getpgid(child.pid) == child.pid
    assert SIGNALS_IGNORED.search(Path(f"/proc/{child.pid}/status").read_text())
    assert agent._lines.empty()
    child.kill()
    assert agent.line() == b""


def test_a_step_that_goes_wrong_is_told_to_the_client(start: Start) -> None:
    agent = start([{"touch": "no/such/folder/file"}]).open()
    assert "FileNotFoundError" in agent.answer_to(agent.prompt())["error"]["message"]
