"""Ctrl-C stops a turn cleanly, twice ends an agent that does not listen, and nothing is left running."""

import fcntl
import json
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import IO

import psutil
import pytest

from portico.testing import read_transcript
from tests.support.processes import lives
from tests.support.program import Portico, Ran, Running, agent_command
from tests.support.waiting import wait_for_file, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")

STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
DEAF = "ignore cancel requests sigterm stdin_close"
GRACE_MS = 5000


def stopped(ran: Ran) -> None:
    assert ran.code == 1
    assert ran.err == ""
    assert (ran.stream.result["state"], ran.stream.result["stopReason"]) == ("canceled", "cancelled")


def was_told(transcript: Path, method: str) -> bool:
    lines = [line for line in read_transcript(transcript) if line.direction == "received"]
    return any(line.message.get("method") == method for line in lines)


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_stops_the_turn_cleanly(portico: Portico, number: signal.Signals) -> None:
    running = portico.start_exec("say so far\nhang")
    running.until("text_delta")
    running.signal(number)
    ran = running.end()
    stopped(ran)
    assert ran.stream.answer == "so far"


def test_a_turn_that_was_started_with_nohup_outlives_the_terminal(portico: Portico) -> None:
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731 - as nohup does
    running = portico.start_exec("say so far\nwait go", preexec_fn=ignore)
    running.until("text_delta")
    running.signal(signal.SIGHUP)
    (portico.workspace / "go").touch()
    ran = running.end()
    assert (ran.code, ran.stream.answer) == (0, "so far")


def test_a_stopped_session_goes_on(portico: Portico) -> None:
    running = portico.start_exec("hang")
    # Mostly before the agent has been given anything to do.
    running.until("running")
    running.signal(signal.SIGINT)
    ran = running.end()
    stopped(ran)
    assert ran.stream.result["durationMs"] < GRACE_MS
    assert portico.exec("say on we go", "--continue").stream.answer == "on we go"


@pytest.mark.parametrize("moment", ["on_initialize", "on_new"])
def test_a_signal_before_the_agent_is_ready_stops_the_turn(portico: Portico, moment: str) -> None:
    agent = agent_command({moment: [{"touch": "begun"}, {"hang": {}}]})
    running = portico.start_exec("hello", "--agent-command", agent)
    wait_for_file(portico.workspace / "begun") if moment == "on_new" else running.until("starting")
    running.signal(signal.SIGINT)
    stopped(running.end())


def test_an_agent_that_goes_on_for_a_while_may_say_its_last_words(portico: Portico) -> None:
    agent = agent_command({"on_prompt": [[{"hang": {}}]], "on_cancel": [{"say": "tidied up"}]})
    running = portico.start_exec("hello", "--agent-command", agent)
    running.until("checkpoint_created")
    running.signal(signal.SIGINT)
    ran = running.end()
    stopped(ran)
    assert ran.stream.answer == "tidied up"


def test_the_second_signal_ends_an_agent_that_ignores_everything(portico: Portico, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript"
    agent = agent_command(transcript=transcript)
    running = portico.start_exec(f"{DEAF}\nsay deaf\nhang", "--agent-command", agent)
    running.until("text_delta")
    running.signal(signal.SIGINT)
    wait_until(lambda: was_told(transcript, "session/cancel"), "the request to stop")
    running.signal(signal.SIGINT)
    ran = running.end()
    stopped(ran)
    assert ran.stream.result["durationMs"] < GRACE_MS


def test_one_signal_is_enough_in_the_end(portico: Portico) -> None:
    running = portico.start_exec(f"{DEAF}\nsay deaf\nhang")
    running.until("text_delta")
    running.signal(signal.SIGINT)
    ran = running.end()
    stopped(ran)
    assert ran.stream.result["durationMs"] >= GRACE_MS


def test_what_an_agent_started_is_ended_with_it(portico: Portico) -> None:
    child = {"pid_file": "child", "ignore_sigterm": True}
    running = portico.start_exec([{"child": child}, {"say": "x"}, {"hang": {}}])
    running.until("text_delta")
    pid = int((portico.workspace / "child").read_text())
    assert exists(pid)
    running.signal(signal.SIGINT)
    stopped(running.end())
    wait_until(lambda: not exists(pid), "the child's end")


def test_a_command_that_the_agent_runs_here_is_ended_with_the_turn(portico: Portico) -> None:
    script = "echo $$ > pid; trap '' TERM; while :; do sleep 1; done"
    running = portico.start_exec([{"run": {"command": "sh", "args": ["-c", script]}}])
    running.until("tool_started")
    wait_for_file(portico.workspace / "pid")
    running.signal(signal.SIGINT)
    stopped(running.end())


@pytest.mark.parametrize("form", ["--api", None])
def test_a_stop_is_told_in_every_form(portico: Portico, form: str | None) -> None:
    flags = [form] if form else []
    prompt = [{"touch": "begun"}, {"hang": {}}]
    words = ("exec", *flags, "--agent-command", portico.agent, portico.turn(prompt)[-1])
    running: Running = portico.start(*words)
    wait_for_file(portico.workspace / "begun")
    running.signal(signal.SIGINT)
    ran = running.end()
    assert ran.code == 1
    if form:
        assert ran.api["status"] == "failed"
        assert "stopped" in ran.api["error"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there can be seen who takes a signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_waiting_for_the_folder_ends_the_wait(
    portico: Portico, number: signal.Signals
) -> None:
    first = portico.start_exec("hang")
    first.until("running")
    second = portico.start_exec("say second", "--wait")
    wait_until(lambda: takes(second.pid, signal.SIGTERM), "the wait")
    second.signal(number)
    ran = second.end(seconds=20)
    assert (ran.code, ran.out) == (1, b"")
    first.signal(signal.SIGINT)
    stopped(first.end())
    assert portico.run("sessions", "list", "--api").api["count"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only there can be seen who waits for input")
@pytest.mark.parametrize("form", ["--api", "--wait"])
def test_one_interrupt_is_enough_while_the_prompt_is_read(portico: Portico, form: str) -> None:
    running = portico.start("exec", form, "--agent-command", portico.agent, "-", stdin=subprocess.PIPE)
    assert running.process.stdin is not None
    # More than a pipe holds: once it is written, a reader has read it, and sleeps when there is no more.
    running.process.stdin.write(b"say something\n" * 50_000)
    wait_until(lambda: is_drained(running.process.stdin) and sleeps(running.pid), "it waits for more")
    running.signal(signal.SIGINT)
    assert running.process.wait(30) == 1
    ran = running.end()
    assert ran.err == ""
    told = [json.loads(line)["diagnostics"]["exit_code"] for line in ran.text.splitlines()]
    assert told == ([1] if form == "--api" else [])
    assert portico.run("sessions", "list", "--api").api["count"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only there can be seen who takes a signal")
@pytest.mark.parametrize("form", ["--api", None])
def test_a_stop_of_an_evaluation_is_told_in_every_form(portico: Portico, form: str | None) -> None:
    running = portico.start("eval", *([form] if form else []))
    wait_until(lambda: takes(running.pid, signal.SIGTERM), "the evaluation")
    running.signal(signal.SIGTERM)
    ran = running.end()
    assert ran.code == 1
    assert "The evaluation was stopped." in (ran.api["error"] if form else ran.err)


def takes(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler of its own for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def is_drained(pipe: IO[bytes] | None) -> bool:
    """Whether all that was written into a pipe has been read."""
    assert pipe is not None
    left = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4))
    return int.from_bytes(left, sys.byteorder) == 0


def sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def exists(pid: int) -> bool:
    try:
        return lives(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False
