"""The life of the user's server: one at a time, found by its file, gone without a trace of harm."""

import json
import os
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import sys
from contextlib import closing

import pytest

from portico import __version__
from portico.config.server_files import ServerFiles
from portico.domain.errors import DeveloperMustAct
from portico.server.daemon import ensure_daemon
from tests.support.processes import members
from tests.support.program import PROGRAM, Portico, Running
from tests.support.serving import Server, Streamed, detach, stopped
from tests.support.terminal import Terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes are POSIX")

BUDGET = 80_000_000


def foreground(portico: Portico, *flags: str, **options: object) -> tuple[Running, str]:
    """A server in the foreground, once it has said where it is."""
    running = portico.start("serve", *flags, **options)  # type: ignore[arg-type]
    assert running.process.stdout is not None
    line = running.process.stdout.readline().decode()
    assert line, running.end().err
    return running, line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_server_says_where_it_is_and_stops_at_a_signal(
    portico: Portico, server: Server, number: signal.Signals
) -> None:
    running, line = foreground(portico)
    assert line == f"Portico: {server.url}#token={server.token}\n"
    assert server.call("GET", "/healthz").json == {"status": "ok", "version": __version__}
    running.signal(number)
    ran = running.end()
    assert (ran.code, ran.text, ran.err) == (0, "Stopped.\n", "")
    assert portico.run("status", "--api").api == {"status": "ok", "running": False}


def test_a_detached_server_is_found_by_its_file_and_keeps_its_token_to_its_owner(
    portico: Portico, server: Server
) -> None:
    ran = detach(portico)
    assert ran.text == f"Portico is running at {server.url}\n"
    assert set(server.record) == {"pid", "port", "version", "started_at", "token_file"}
    assert server.record["version"] == __version__
    assert len(server.token) >= 43
    for file in (server.record_file, server.token_file, portico.state / "server.log"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.getsid(server.process.pid) == server.process.pid
    assert server.call("POST", "/auth", token=server.token).status == 204
    stopped(portico)
    assert not server.answers()


def test_status_tells_how_the_server_does(portico: Portico, server: Server) -> None:
    assert portico.run("status").text.startswith("No server is running.")
    detach(portico)
    told = portico.run("status", "--api").api
    assert (told["running"], told["url"], told["pid"]) == (True, server.url, server.process.pid)
    assert (told["version"], told["sameVersion"]) == (__version__, True)
    assert (told["sessions"], told["activeSessions"]) == (0, 0)
    assert told["workspace"] == str(portico.workspace)
    if sys.platform == "linux":
        assert told["memoryBytes"] < BUDGET
    shown = portico.run("status")
    assert f"Portico {__version__} is running at {server.url}" in shown.text
    assert server.token not in shown.text + json.dumps(told)


def test_status_says_what_is_wrong_with_the_log_of_a_server_that_answers(
    portico: Portico, server: Server
) -> None:
    detach(portico)
    server.ask("StartSession", {"agent": "porter"})
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("ALTER TABLE sessions RENAME TO mislaid")
    shown = portico.run("status")
    assert shown.code == 2
    assert f"is running at {server.url}" in shown.text
    assert "no such table: sessions" in shown.text
    assert "portico doctor" in shown.text
    told = portico.run("status", "--api")
    assert (told.code, told.api["status"], told.api["running"]) == (2, "failed", True)
    assert "no such table" in told.api["error"]
    assert told.api["diagnostics"]["exit_code"] == 2
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("ALTER TABLE mislaid RENAME TO sessions")
    assert portico.run("status").code == 0


def test_a_server_that_cannot_use_its_log_says_so_in_words(portico: Portico, server: Server) -> None:
    portico.run("exec", "--agent-command", portico.agent, "say hello")
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("ALTER TABLE sessions RENAME TO mislaid")
    ran = portico.run("serve", "--detach")
    assert ran.code == 2
    assert "no such table: sessions" in ran.complaint[0]
    (way_on,) = ran.complaint[1:]
    assert way_on.startswith("  Run `portico doctor`")
    assert "The server's log is " in way_on


def test_a_server_that_cannot_say_why_it_ended_because_the_disk_is_full_is_told_of_all_the_same(
    portico: Portico, server: Server
) -> None:
    portico.run("exec", "--agent-command", portico.agent, "say hello")
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("ALTER TABLE sessions RENAME TO mislaid")
    (portico.state / "server.log").symlink_to("/dev/full")
    ran = portico.run("serve", "--detach")
    assert ran.code == 2
    assert ran.complaint[0].startswith("portico: The server ended with code ")
    assert f"The disk that holds {portico.state / 'server.log'} is full" in ran.complaint[0]
    assert "No space left on device" in ran.complaint[0]
    assert ran.complaint[1].startswith("  Free some space")


def test_a_session_that_cannot_be_read_keeps_nobody_from_the_others(portico: Portico, server: Server) -> None:
    for words in ("say one", "say two"):
        portico.run("exec", "--agent-command", portico.agent, words)
    kept, spoilt = portico.run("sessions", "list", "--api").api["sessions"]
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("UPDATE sessions SET state = 'spoilt' WHERE session_id = ?", (spoilt["sessionId"],))
    left = portico.run("sessions", "list", "--api").api["sessions"]
    assert [one["sessionId"] for one in left] == [kept["sessionId"]]
    detach(portico)
    assert [one["sessionId"] for one in server.ask("ListSessions", {})["sessions"]] == [kept["sessionId"]]
    shown = portico.run("sessions", "show", spoilt["sessionId"])
    assert shown.code == 2
    assert "'spoilt' is not a valid TurnState" in shown.complaint[0]
    assert "portico sessions verify" in shown.complaint[1]
    assert spoilt["sessionId"] in portico.run("sessions", "verify").text


def test_a_session_whose_title_is_no_text_is_listed_and_goes_on(portico: Portico, server: Server) -> None:
    portico.run("exec", "--agent-command", portico.agent, "say one")
    [listed] = portico.run("sessions", "list", "--api").api["sessions"]
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("UPDATE sessions SET title = CAST(x'73ff79' AS TEXT)")
    assert "s\ufffdy" in portico.run("sessions", "list").text
    detach(portico)
    assert [one["title"] for one in server.ask("ListSessions", {})["sessions"]] == ["s\ufffdy"]
    went_on = portico.run("exec", "--session", listed["sessionId"], "say two")
    assert (went_on.code, went_on.text) == (0, "two\n")
    assert "title 's\ufffdy' instead of" in portico.run("sessions", "verify").text


def test_a_draft_that_cannot_be_read_keeps_no_session_from_being_listed(
    portico: Portico, server: Server
) -> None:
    portico.run("exec", "--agent-command", portico.agent, "say one")
    with closing(sqlite3.connect(portico.state / "portico.db")) as log, log:
        log.execute("INSERT INTO desks SELECT session_id, x'ff' FROM sessions")
    detach(portico)
    [listed] = server.ask("ListSessions", {})["sessions"]
    assert not listed.get("hasDraft", False)


def test_stopping_what_does_not_run_is_no_failure(portico: Portico) -> None:
    assert portico.run("stop", "--api").api == {"status": "ok", "stopped": False}
    ran = portico.run("stop")
    assert (ran.code, ran.text) == (0, "No server is running.\n")


def test_a_second_server_is_told_where_the_first_one_is(portico: Portico, server: Server) -> None:
    detach(portico)
    ran = portico.run("serve")
    assert ran.code == 5
    assert server.url in ran.err
    assert "portico stop" in ran.err
    assert server.token not in ran.err
    assert server.answers()


def test_a_detached_server_that_runs_is_used_again(portico: Portico, server: Server) -> None:
    first = detach(portico, "--api").api
    second = detach(portico, "--api").api
    assert (first.pop("reused"), second.pop("reused")) == (False, True)
    assert first == second
    assert first == {
        "status": "ok",
        "url": server.url,
        "port": server.port,
        "pid": server.process.pid,
        "version": __version__,
        "tokenFile": str(server.token_file),
    }
    assert detach(portico).text == f"Portico is already running at {server.url}\n"


def test_several_that_start_at_once_end_up_with_one_server(portico: Portico, server: Server) -> None:
    starting = [portico.start("serve", "--detach", "--api") for _ in range(4)]
    told = [running.end().api for running in starting]
    assert {one["pid"] for one in told} == {server.process.pid}
    assert sorted(one["reused"] for one in told) == [False, True, True, True]
    wait_until(lambda: len(members(portico.mark)) == 1, "the end of the others")


@pytest.mark.parametrize("how", [(), ("--detach",)])
def test_a_port_in_use_is_told(portico: Portico, how: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = portico.run("serve", "--port", str(port), *how)
    assert ran.code == 5
    assert f"Port {port} cannot be used" in ran.err
    assert "--port" in ran.err


@pytest.mark.parametrize("port", ["-1", "65536", "http", "1.5"])
def test_what_is_no_port_is_refused(portico: Portico, port: str) -> None:
    ran = portico.run("serve", f"--port={port}")
    assert (ran.code, ran.out) == (5, b"")
    assert "is not a port" in ran.err


def test_a_wanted_port_is_taken(portico: Portico, server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert detach(portico, "--port", str(port)).text == f"Portico is running at http://127.0.0.1:{port}/\n"


def test_a_server_comes_back_with_its_port_and_its_token(portico: Portico, server: Server) -> None:
    detach(portico)
    before = (server.port, server.token)
    pid = server.process.pid
    stopped(portico)
    detach(portico)
    assert (server.port, server.token) == before
    assert server.process.pid != pid
    assert server.call("GET", "/healthz", token=before[1]).status == 200


def test_a_server_that_was_killed_comes_back_with_its_port_and_its_token(
    portico: Portico, server: Server
) -> None:
    detach(portico)
    before = (server.port, server.token)
    process = server.process
    process.kill()
    process.wait(30)
    assert portico.run("status", "--api").api == {"status": "ok", "running": False}
    assert portico.run("stop").text == "No server is running.\n"
    detach(portico)
    assert (server.port, server.token) == before


def test_a_port_that_somebody_took_meanwhile_is_said_plainly(portico: Portico, server: Server) -> None:
    detach(portico)
    port = server.port
    stopped(portico)
    with socket.create_server(("127.0.0.1", port)):
        running, line = foreground(portico)
        assert server.port != port
        assert server.url in line
        running.signal(signal.SIGTERM)
        assert f"Port {port}" in running.end().err


def test_a_detached_server_outlives_its_terminal(portico: Portico, server: Server) -> None:
    script = f"{PROGRAM} serve --detach && cat"
    terminal = Terminal(["sh", "-c", script], cwd=portico.workspace, environ=portico.environ())
    terminal.until("Portico is running at")
    wait_until(server.record_file.exists, "the file")
    process = server.process
    terminal.close()
    process.send_signal(signal.SIGHUP)
    log = portico.state / "portico.log"
    wait_until(lambda: "the terminal is gone" in log.read_text(), "the signal")
    assert server.answers()
    stopped(portico)


def test_a_detached_server_outlives_whoever_started_it(portico: Portico, server: Server) -> None:
    starter = portico.start("serve", "--detach", start_new_session=True)
    wait_until(lambda: server.record_file.exists() and server.answers(), "the server")
    try:
        os.killpg(starter.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    starter.end()
    assert server.answers()
    assert portico.run("status", "--api").api["running"] is True


def test_a_server_that_cannot_start_says_why(portico: Portico) -> None:
    ran = portico.run("serve", "--detach", "--agent", "nobody")
    assert ran.code == 2
    assert 'Unknown agent "nobody"' in ran.err
    assert "server.log" in ran.err
    told = portico.run("serve", "--detach", "--agent", "nobody", "--api").api
    assert told["status"] == "failed"
    assert portico.run("serve", "--agent", "nobody").code == 2


def test_a_server_that_does_not_answer_in_time_is_ended_and_its_words_are_shown(portico: Portico) -> None:
    hanging = (sys.executable, "-c", "import time; print('so far', flush=True); time.sleep(1000)")
    with pytest.raises(DeveloperMustAct, match=r"within 0\.5 s") as failed:
        ensure_daemon(ServerFiles(portico.state), hanging, portico.environ(), deadline=0.5)
    assert failed.value.details.stderr == "so far\n"


def test_output_that_has_grown_is_put_aside(portico: Portico, server: Server) -> None:
    portico.state.mkdir(parents=True)
    (portico.state / "server.log").write_bytes(b"x" * 1_100_000)
    detach(portico)
    assert (portico.state / "server.log").stat().st_size < 1000
    assert (portico.state / "server.log.1").stat().st_size == 1_100_000


def test_a_folder_that_is_not_there_is_refused(portico: Portico) -> None:
    ran = portico.run("serve", "--detach", "--cwd", "nowhere")
    assert (ran.code, "is not a folder" in ran.err) == (5, True)


def begin_turn(portico: Portico, server: Server, prompt: str) -> tuple[str, Streamed]:
    """A session with the scripted agent, and the stream of its first turn."""
    session_id = server.ask("StartSession", {"agent": "scripted"})["session"]["summary"]["sessionId"]
    return session_id, server.stream("Invoke", {"sessionId": session_id, "text": prompt})


def settings_with_scripted_agent(portico: Portico) -> None:
    words = shlex.split(portico.agent)
    portico.settings({"agents": {"scripted": {"command": words[0], "args": words[1:]}}})


def test_a_turn_under_way_is_lost_to_nobody_when_the_server_stops(portico: Portico, server: Server) -> None:
    settings_with_scripted_agent(portico)
    detach(portico)
    session_id, turn = begin_turn(portico, server, "say so far\nhang")
    turn.until("so far")
    assert portico.run("status", "--api").api["activeSessions"] == 1
    stopped(portico)
    assert "error" not in turn.end()
    told = portico.run("sessions", "show", "--api", session_id).api["session"]
    assert told["state"] in ("canceled", "interrupted")
    assert "so far" in portico.run("sessions", "export", session_id).text
    assert portico.run("sessions", "verify").code == 0
    assert members(portico.mark) == []


def test_a_server_whose_files_were_removed_is_found_again(portico: Portico, server: Server) -> None:
    detach(portico)
    record, token = server.record, server.token
    server.record_file.unlink()
    server.token_file.unlink()
    wait_until(lambda: portico.run("status", "--api").api["running"], "the files being back")
    assert (server.record, server.token) == (record, token)
    assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
    stopped(portico)


def test_a_server_whose_state_folder_was_removed_ends_by_itself(portico: Portico, server: Server) -> None:
    settings_with_scripted_agent(portico)
    detach(portico)
    _, turn = begin_turn(portico, server, "say so far\nhang")
    turn.until("so far")
    shutil.rmtree(portico.state.rename(portico.home / "removed"))
    wait_until(lambda: members(portico.mark) == [], "the end of the server and of its agent")
    assert portico.run("status").text.startswith("No server is running.")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_after_the_last_word_leaves_the_exit_code_alone(
    portico: Portico, number: signal.Signals
) -> None:
    running, _ = foreground(portico, environ={"PYTHONUNBUFFERED": "1"})
    running.signal(signal.SIGTERM)
    assert running.process.stdout is not None
    assert running.process.stdout.readline() == b"Stopped.\n"
    running.signal(number)
    ran = running.end()
    assert (ran.code, ran.text, ran.err) == (0, "", "")


def test_more_signals_do_not_cut_the_end_short(portico: Portico, server: Server) -> None:
    settings_with_scripted_agent(portico)
    running, _ = foreground(portico)
    deaf = "ignore cancel requests sigterm stdin_close\nsay deaf\nhang"
    session_id, turn = begin_turn(portico, server, deaf)
    turn.until("deaf")
    running.signal(signal.SIGTERM)
    wait_until(lambda: not server.answers(), "the beginning of the end")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        running.signal(number)
    ran = running.end()
    assert (ran.code, ran.text, ran.err) == (0, "Stopped.\n", "")
    turn.leave()  # Asked again, the server may hang up on a stream before it has ended.
    told = portico.run("sessions", "show", "--api", session_id).api["session"]
    assert told["state"] in ("canceled", "interrupted")
    assert members(portico.mark) == []
