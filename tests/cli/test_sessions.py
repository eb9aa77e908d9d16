"""`portico sessions`: what was said is there to be read, taken away and deleted."""

import json
import sqlite3
from pathlib import Path

import pytest

from portico.store.migrations import MIGRATIONS
from tests.support.program import Portico

TURN = [
    {"think": "let me see\nit is short"},
    {"tool": {"id": "c1", "title": "Look", "kind": "read", "text": "two\nlines"}},
    {
        "tool": {
            "id": "c2",
            "title": "Change",
            "kind": "edit",
            "diff": {"path": "a.txt", "old": "one", "new": "two"},
        }
    },
    {"plan": ["first", "second"]},
    {"say": "Here is **the answer**."},
]


@pytest.fixture
def session_id(portico: Portico) -> str:
    return portico.exec(TURN).stream.session_id


def test_a_list_is_for_the_folder_or_for_all(portico: Portico, tmp_path: Path) -> None:
    here = portico.exec("say here").stream.session_id
    (tmp_path / "other").mkdir()
    there = portico.exec("say there", "--cwd", str(tmp_path / "other")).stream.session_id
    listed = portico.run("sessions", "list").text
    assert here in listed
    assert there not in listed
    assert there in portico.run("sessions", "list", "--cwd", str(tmp_path / "other")).text
    everywhere = portico.run("sessions", "list", "--all").text
    assert here in everywhere
    assert there in everywhere
    assert portico.run("sessions", "list", "--all", "--limit", "1", "--api").api["count"] == 1


def test_an_empty_list_says_so(portico: Portico) -> None:
    ran = portico.run("sessions", "list")
    assert ran.code == 0
    assert "No sessions in this folder" in ran.text


def test_a_session_is_shown_as_it_was(portico: Portico, session_id: str) -> None:
    shown = portico.run("sessions", "show", session_id)
    assert shown.code == 0
    assert "the answer" in shown.text


def test_an_export_as_json_has_every_event_in_order(portico: Portico, session_id: str) -> None:
    ran = portico.run("sessions", "export", "--format", "json", session_id)
    told = json.loads(ran.out)
    assert (ran.code, told["portico"], told["sessionId"]) == (0, 1, session_id)
    assert [event["seq"] for event in told["events"]] == list(range(1, len(told["events"]) + 1))
    text = [event["payload"]["text"] for event in told["events"] if event["type"] == "text_delta"]
    assert "".join(text) == "Here is **the answer**."


def test_an_export_as_markdown_reads_well(portico: Portico, session_id: str) -> None:
    page = portico.run("sessions", "export", session_id).text
    assert page.startswith("# ")
    order = ["## You", "## Agent", "> let me see\n> it is short", "**Look**", "**Change**", "the answer"]
    places = [page.rfind(words) for words in order]
    assert -1 not in places, (places, page)
    assert places == sorted(places)


def test_output_that_an_agent_told_again_and_again_is_once_in_an_export(portico: Portico) -> None:
    session_id = portico.exec("resend 40 20").stream.session_id
    page = portico.run("sessions", "export", session_id).text
    first = json.loads(portico.run("sessions", "export", "--format", "json", session_id).out)["events"]
    told = [part["text"] for event in first for part in event["payload"].get("content", ())]
    assert told
    assert page.count(told[-1][:20]) == 1


def test_a_deleted_session_is_gone(portico: Portico, session_id: str) -> None:
    ran = portico.run("sessions", "delete", session_id[:-3])
    assert (ran.code, ran.text) == (0, f"Deleted {session_id}.\n")
    assert portico.run("sessions", "show", session_id).code == 5
    assert portico.exec("say hello", "--continue").code == 5


def test_what_was_deleted_cannot_be_found_in_the_file(portico: Portico) -> None:
    session_id = portico.exec("say swordfish-4711").stream.session_id
    portico.run("sessions", "delete", session_id)
    rest = b"".join(path.read_bytes() for path in portico.state.glob("portico.db*"))
    assert b"swordfish-4711" not in rest


def test_a_whole_log_verifies(portico: Portico, session_id: str) -> None:
    ran = portico.run("sessions", "verify")
    assert (ran.code, ran.text) == (0, "Every log is complete.\n")


def test_a_log_with_a_hole_does_not_verify(portico: Portico, session_id: str) -> None:
    damage(portico, "DELETE FROM events WHERE seq = 3")
    ran = portico.run("sessions", "verify")
    assert ran.code == 4
    assert session_id in ran.text
    told = portico.run("sessions", "verify", "--api")
    assert (told.code, told.api["status"]) == (4, "failed")
    doctor = portico.run("doctor")
    assert doctor.code == 2
    assert "portico sessions verify" in doctor.text


@pytest.mark.parametrize("words", [["sessions", "list"], ["exec", "say hello"], ["sessions", "verify"]])
def test_a_log_of_a_newer_version_is_refused(portico: Portico, words: list[str], session_id: str) -> None:
    damage(portico, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = (portico.state / "portico.db").read_bytes()
    ran = portico.run(*words)
    assert (ran.code, ran.out) == (2, b"")
    assert "newer Portico" in ran.complaint[0]
    assert "Upgrade" in ran.complaint[1]
    told = portico.run(*words[:1], "--api", *words[1:])
    assert (told.code, told.api["diagnostics"]["error_code"]) == (2, "INTERNAL")
    assert (portico.state / "portico.db").read_bytes() == before


def test_doctor_says_that_the_log_is_of_a_newer_version(portico: Portico, session_id: str) -> None:
    damage(portico, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert "newer Portico" in portico.run("doctor").text


def test_a_log_that_is_none_is_refused(portico: Portico) -> None:
    portico.state.mkdir(parents=True)
    (portico.state / "portico.db").write_bytes(b"this is not a database" * 100)
    ran = portico.run("exec", "--agent-command", portico.agent, "say hello")
    assert (ran.code, ran.out) == (2, b"")
    assert "damaged" in ran.complaint[0]


def test_a_home_that_cannot_be_made_is_told(portico: Portico) -> None:
    (portico.home / "portico").write_text("in the way")
    ran = portico.run("exec", "--agent-command", portico.agent, "say hello")
    assert (ran.code, ran.out) == (2, b"")
    assert "PORTICO_HOME" in ran.err


def test_the_log_is_readable_by_its_owner_only(portico: Portico, session_id: str) -> None:
    for path in (portico.state, portico.state / "portico.db"):
        assert path.stat().st_mode & 0o077 == 0, path


def damage(portico: Portico, statement: str) -> None:
    connection = sqlite3.connect(portico.state / "portico.db")
    with connection:
        connection.execute(statement)
    connection.close()


def test_words_are_found_in_every_session_with_the_place(
    portico: Portico, session_id: str, tmp_path: Path
) -> None:
    other = portico.exec('say "another answer"').stream.session_id
    hits = portico.run("sessions", "search", "answer", "--api").api["hits"]
    assert {hit["sessionId"] for hit in hits} >= {session_id, other}
    (answer,) = [hit for hit in hits if hit["sessionId"] == session_id and hit["kind"] == "answer"]
    assert answer["snippet"] == "Here is **the answer**."
    assert answer["seq"] > 1
    text = portico.run("sessions", "search", "the", "answer").text
    assert session_id in text
    assert "Here is **the answer**." in text
    assert portico.run("sessions", "search", "--file", "a.txt", "--api").api["count"] >= 1
    assert portico.run("sessions", "search", "answer", "--cwd", str(tmp_path), "--api").api["count"] == 0
    assert portico.run("sessions", "search", "answer", "--since", "2999-01-01", "--api").api["count"] == 0
    assert "No messages found." in portico.run("sessions", "search", "xylophone").text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "There is nothing to search for."),
        (["x", "--since", "yesterday"], "--since yesterday is neither a date nor an age."),
    ],
)
def test_a_search_that_makes_no_sense_says_how_to_ask(
    portico: Portico, words: list[str], message: str
) -> None:
    ran = portico.run("sessions", "search", *words)
    assert ran.code == 5
    assert message in ran.err
