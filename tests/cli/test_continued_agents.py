"""A session that goes on does so with the program that it began with, whatever else has its name."""

import shlex

from tests.rpc.process_tree import script
from tests.support.program import Portico, agent_command


def test_a_command_named_like_a_known_agent_is_not_given_up_for_that_agent(portico: Portico) -> None:
    words = shlex.split(portico.agent)
    mine = script(portico.home, "gemini", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    begun = portico.exec("say one", "--agent-command", str(mine))
    assert begun.stream.answer == "one"
    gone_on = portico.run("exec", "--json-stream", "--continue", "say two")
    assert gone_on.stream.answer == "two"
    assert gone_on.stream.only("session_started")["agentCommand"] == [str(mine)]


def test_an_agent_that_reopens_what_it_does_not_know_goes_on_with_a_summary(portico: Portico) -> None:
    forgetful = agent_command({"reopens_unknown": True})
    assert portico.exec("say one", "--agent-command", forgetful).stream.answer == "one"
    for word in ("two", "three"):
        gone_on = portico.run("exec", "--json-stream", "--continue", f"say {word}")
        assert gone_on.code == 0
        assert word in gone_on.stream.answer
