"""One writer per folder and one process per session: the second is refused, or waits."""

import signal
from pathlib import Path

import pytest

from tests.support.program import Portico, Running
from tests.support.waiting import wait_until


@pytest.fixture
def first(portico: Portico) -> Running:
    """A turn that is under way in the workspace until a file called `go` is there."""
    running = portico.start_exec("say busy\nwait go\nsay done")
    running.until("text_delta")
    return running


def finish(portico: Portico, first: Running) -> None:
    (portico.workspace / "go").touch()
    assert first.end().stream.answer == "busydone"


def test_a_second_session_in_the_folder_is_told_who_works_there(portico: Portico, first: Running) -> None:
    holder = first.seen.split(b'"sessionId":"')[1].split(b'"')[0].decode()
    ran = portico.exec("say second")
    assert (ran.code, ran.out) == (1, b"")
    assert holder in ran.complaint[0]
    for way in ("stop it", "--wait", "worktree"):
        assert way in ran.complaint[1].lower()
    told = portico.run("exec", "--api", "--agent-command", portico.agent, "say second").api
    assert told["diagnostics"]["error_code"] == "SESSION_BUSY"
    assert portico.run("sessions", "list", "--api").api["count"] == 1, "it leaves no empty session behind"
    finish(portico, first)


def test_a_second_session_that_waits_gets_its_turn(portico: Portico, first: Running) -> None:
    second = portico.start_exec("say second", "--wait")
    wait_until(lambda: portico.leases() >= 3, "the second session")
    finish(portico, first)
    assert second.end().stream.answer == "second"


def test_a_session_that_is_open_elsewhere_cannot_be_continued(portico: Portico, first: Running) -> None:
    ran = portico.run("exec", "--api", "--continue", "--agent-command", portico.agent, "say second")
    assert (ran.code, ran.api["diagnostics"]["error_code"]) == (1, "SESSION_BUSY")
    finish(portico, first)
    assert portico.exec("say second", "--continue").stream.answer == "second"


def test_whoever_waits_for_a_session_goes_on_with_it_when_it_is_free(
    portico: Portico, first: Running
) -> None:
    flags = ("--agent-command", portico.agent)
    waiting = [portico.start_exec(f"say {name}", "--continue", "--wait", *flags) for name in ("one", "two")]
    refused = portico.run("exec", "--continue", *flags, "say second")
    assert "--wait" in refused.err
    assert [each.process.poll() for each in waiting] == [None, None]
    finish(portico, first)
    streams = [each.end().stream for each in waiting]
    assert [stream.answer for stream in streams] == ["one", "two"]
    assert len({stream.session_id for stream in streams}) == 1
    assert portico.run("sessions", "verify").code == 0


def test_a_session_that_is_running_cannot_be_deleted(portico: Portico, first: Running) -> None:
    session_id = portico.run("sessions", "list", "--api").api["sessions"][0]["sessionId"]
    ran = portico.run("sessions", "delete", "--api", session_id)
    assert (ran.code, ran.api["diagnostics"]["error_code"]) == (1, "SESSION_BUSY")
    finish(portico, first)
    assert portico.run("sessions", "delete", "--yes", session_id).code == 0


def test_a_running_session_can_be_listed_shown_and_exported(portico: Portico, first: Running) -> None:
    (session,) = portico.run("sessions", "list", "--api").api["sessions"]
    assert session["state"] == "streaming", "it is alive, so nobody interrupts it"
    assert "busy" in portico.run("sessions", "show", session["sessionId"]).text
    assert "busy" in portico.run("sessions", "export", session["sessionId"]).text
    finish(portico, first)


def test_sessions_in_other_folders_run_side_by_side(portico: Portico, first: Running, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert portico.exec("say beside", "--cwd", str(other)).stream.answer == "beside"
    finish(portico, first)


def test_a_folder_is_the_same_by_whichever_name(portico: Portico, first: Running, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(portico.workspace)
    assert portico.exec("say second", "--cwd", str(tmp_path / "alias")).code == 1
    finish(portico, first)


def test_a_folder_whose_writer_was_killed_is_free_at_once(portico: Portico, first: Running) -> None:
    first.signal(signal.SIGKILL)
    first.process.wait(30)
    assert portico.exec("say second").stream.answer == "second"


def test_a_session_that_cannot_be_recovered_keeps_nobody_from_the_others(
    portico: Portico, first: Running
) -> None:
    first.signal(signal.SIGKILL)
    first.process.wait(30)
    locks = [lock for lock in (portico.state / "leases").glob("*.lock") if lock.stem != "gate"]
    for lock in locks:
        lock.unlink()
        lock.mkdir()  # it cannot be locked, just as no lock can be written to a full disk
    own_log = portico.state / "portico.log"
    own_log.mkdir()  # and it cannot be logged
    (session,) = portico.run("sessions", "list", "--api").api["sessions"]
    assert session["state"] == "streaming"
    assert "busy" in portico.run("sessions", "export", session["sessionId"]).text
    assert portico.exec("say more", "--continue").code == 2
    for folder in (*locks, own_log):
        folder.rmdir()
    assert portico.run("sessions", "list", "--api").api["sessions"][0]["state"] == "interrupted"


def test_a_session_whose_host_was_killed_is_interrupted_and_goes_on(portico: Portico, first: Running) -> None:
    first.signal(signal.SIGKILL)
    first.process.wait(30)
    (session,) = portico.run("sessions", "list", "--api").api["sessions"]
    assert session["state"] == "interrupted"
    again = portico.exec("say second", "--continue").stream
    assert (again.session_id, again.answer) == (session["sessionId"], "second")
