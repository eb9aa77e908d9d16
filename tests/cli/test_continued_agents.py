"""A session that goes on does so with the program that it began with, whatever else has its name."""

import shlex

from tests.rpc.process_tree import script
from tests.support.program import Portico


def test_a_command_named_like_a_known_agent_is_not_given_up_for_that_agent(portico: Portico) -> None:
    words = shlex.split(portico.agent)
    mine = script(portico.home, "gemini", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    begun = portico.exec("say one", "--agent-command", str(mine))
    assert begun.stream.answer == "one"
    gone_on = portico.run("exec", "--json-stream", "--continue", "say two")
    assert gone_on.stream.answer == "two"
    assert gone_on.stream.only("session_started")["agentCommand"] == [str(mine)]
