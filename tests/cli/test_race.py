"""A race: one prompt to several agents at once, each with a proposal of its own, tried and compared."""

import json
import shlex

from tests.support.program import Portico

WRITING = json.dumps(
    [
        {"write": {"path": "notes.txt", "content": "one\ntwo\n"}},
        {"usage": {"used": 1, "size": 2, "cost": {"amount": 0.2, "currency": "USD"}}},
    ]
)


def with_twin(portico: Portico) -> None:
    """Settings with the scripted agent under two names."""
    program, *words = shlex.split(portico.agent)
    agent = {"command": program, "args": words}
    portico.settings({"agents": {"scripted": agent, "twin": agent}})


def test_each_proposes_apart_and_hunks_of_any_can_be_applied(portico: Portico) -> None:
    with_twin(portico)
    notes = portico.workspace / "notes.txt"
    notes.write_text("one\n")
    flags = ("--agent", "scripted", "--agent", "twin", "--allow", "edit", "--test", "grep -q two notes.txt")
    results = portico.run("race", WRITING, *flags, "--api").api["results"]
    assert [one["agent"] for one in results] == ["scripted", "twin"]
    for one in results:
        assert (one["status"], one["tests"]) == ("completed", True)
        assert (one["files"], one["added"], one["removed"], one["cost"]) == (1, 1, 0, 0.2)
    assert notes.read_text() == "one\n", "nothing is written before something is applied"
    session = results[1]["sessionId"]
    assert portico.run("review", "apply", "--session", session, "notes.txt").code == 0
    assert notes.read_text() == "one\ntwo\n"


def test_a_failing_test_and_an_unknown_agent_stand_in_the_table(portico: Portico) -> None:
    with_twin(portico)
    flags = ("--agent", "twin", "--agent", "nothere", "--allow", "edit", "--test", "false")
    told = portico.run("race", WRITING, *flags, "--diff")
    assert told.code == 0
    lines = told.text.splitlines()
    assert lines[0].split() == ["agent", "result", "tests", "changes", "cost", "time", "session"]
    assert "failed" in lines[1]
    assert 'Unknown agent "nothere".' in lines[2]
    assert "+two" in told.text


def test_one_alone_is_no_race(portico: Portico) -> None:
    refused = portico.run("race", "hello", "--agent", "porter")
    assert (refused.code, "two agents or two models" in refused.err) == (5, True)
