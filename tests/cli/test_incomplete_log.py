"""An incomplete log is reported at the next command, which continues with what is left."""

import sqlite3
from contextlib import closing

from portico.domain.events import Notice
from tests.support.program import Portico


def test_an_emptied_log_is_told_once_and_verified_as_missing(portico: Portico) -> None:
    session_id = portico.exec("say hello").stream.session_id
    (portico.state / "portico.db").write_bytes(b"")
    ran = portico.run("sessions", "list")
    assert ran.code == 0
    assert "The log of your sessions is incomplete; Portico continues with what is there." in ran.err
    assert f"session {session_id}: it is missing; it was in the log with" in ran.err
    assert portico.run("sessions", "list").err == ""
    assert portico.exec("say hello").code == 0
    verified = portico.run("sessions", "verify", "--api")
    assert verified.code == 4
    (problem,) = verified.api["problems"]
    assert problem.startswith(f"session {session_id}: it is missing")
    assert portico.run("sessions", "verify", "--accept-losses").text == "Every log is complete.\n"
    assert portico.run("sessions", "verify").code == 0


async def test_a_session_that_lost_its_end_says_so_in_its_log(portico: Portico) -> None:
    session_id = portico.exec("say hello").stream.session_id
    with closing(sqlite3.connect(portico.state / "portico.db")) as file:
        older = file.serialize()
    assert portico.exec("say more", "--continue").code == 0
    (portico.state / "portico.db").write_bytes(older)
    assert portico.run("sessions", "list").code == 0
    last = (await portico.log(session_id))[-1].payload
    assert isinstance(last, Notice)
    assert last.text.startswith("The log of this session is incomplete: ")
    assert "missing: from event" in last.text


def test_a_word_that_was_changed_in_the_log_is_found(portico: Portico) -> None:
    session_id = portico.exec("say hello").stream.session_id
    with closing(sqlite3.connect(portico.state / "portico.db", isolation_level=None)) as file:
        file.execute("""UPDATE events SET payload = '{"text":"goodbye"}' WHERE kind = 'text_delta'""")
    verified = portico.run("sessions", "verify")
    assert verified.code == 4
    assert f"session {session_id}: event" in verified.text
    assert "(text_delta) is not what was written" in verified.text
    assert portico.exec("say hello", "--continue").code == 0


def test_a_fork_of_a_session_is_whole(portico: Portico) -> None:
    session_id = portico.exec("say hello").stream.session_id
    assert portico.run("sessions", "fork", session_id).code == 0
    assert portico.run("sessions", "verify").text == "Every log is complete.\n"
