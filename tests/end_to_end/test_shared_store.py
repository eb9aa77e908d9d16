"""The log in a database that several machines share, through the program itself."""

import json
from pathlib import Path

from tests.support.postgres import database, postgres
from tests.support.program import Portico, agent_command

__all__ = ["database", "postgres"]


def test_two_homes_share_the_sessions_of_a_database_and_copies_of_it_are_whole(
    portico: Portico, tmp_path: Path, database: str
) -> None:
    shared = {"PORTICO_STORE": database}
    ran = portico.run(*portico.turn("say hello", "--agent-command", agent_command()), environ=shared)
    assert (ran.code, ran.stream.answer) == (0, "hello")
    # Another machine: nothing of the first one's folders is there.
    elsewhere = {**shared, "PORTICO_HOME": str(tmp_path / "other")}
    listed = json.loads(portico.run("sessions", "list", "--api", environ=elsewhere).out)
    assert [one["sessionId"] for one in listed["sessions"]] == [ran.stream.session_id]
    assert portico.run("sessions", "list", environ={"PORTICO_HOME": str(tmp_path / "other")}).code == 0
    words = ["--continue", "say again", "--agent-command", agent_command()]
    gone_on = portico.run(*portico.turn(*words), environ=elsewhere)
    assert (gone_on.code, gone_on.stream.session_id) == (0, ran.stream.session_id)
    copied = portico.run("store", "copy", database, str(tmp_path / "copy"), "--api")
    assert (copied.code, json.loads(copied.out)["sessions"]) == (0, 1)
    again = json.loads(portico.run("store", "copy", database, str(tmp_path / "copy"), "--api").out)
    assert (again["sessions"], again["unchanged"]) == (0, 1)
    assert "complete" in portico.run("doctor", environ=elsewhere).out.decode()


def test_an_agent_does_not_get_the_address_of_the_database(portico: Portico, database: str) -> None:
    words = portico.turn("env PORTICO_STORE", "--agent-command", agent_command())
    ran = portico.run(*words, environ={"PORTICO_STORE": database})
    assert ran.code == 0
    assert ran.stream.answer == "PORTICO_STORE="


def test_a_store_of_an_unknown_kind_is_an_input_error(portico: Portico) -> None:
    ran = portico.run("sessions", "list", environ={"PORTICO_STORE": "mysql://somewhere"})
    assert ran.code == 5
    assert "Unknown kind of store: mysql" in ran.err
