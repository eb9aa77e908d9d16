"""`bypassPermissions` holds for the agent that it was given to, and for no other of the same name."""

import shlex
from pathlib import Path

import pytest

from tests.support.program import Portico
from tests.support.stream import Json

_ASK: list[Json] = [
    {
        "permission": {
            "title": "Do it",
            "kind": "execute",
            "allowed": [{"say": "yes"}],
            "rejected": [{"say": "no"}],
        }
    }
]
_VARIABLE = "PORTICO_BYPASS_PERMISSIONS"


def scripted(portico: Portico, **more: object) -> Json:
    """The scripted agent as one of the settings."""
    command, *args = shlex.split(portico.agent)
    return {"command": command, "args": args, **more}


def program_name(portico: Portico) -> str:
    return Path(shlex.split(portico.agent)[0]).stem


def answer(portico: Portico, *flags: str, unasked: str = "") -> str:
    said: str = portico.exec(_ASK, *flags, environ={_VARIABLE: unasked}).stream.answer
    return said


@pytest.fixture
def trusted(portico: Portico) -> Json:
    return {"trustedWorkspaces": [str(portico.workspace)]}


def test_an_agent_of_the_settings_is_let_by_them_or_by_its_name(portico: Portico) -> None:
    portico.settings({"agents": {"mine": scripted(portico, bypassPermissions=True)}})
    assert answer(portico, "--agent", "mine") == "yes"
    portico.settings({"agents": {"mine": scripted(portico)}})
    assert answer(portico, "--agent", "mine") == "no"
    assert answer(portico, "--agent", "mine", unasked="other, mine") == "yes"


def test_another_program_of_that_name_is_asked_about(portico: Portico) -> None:
    name = program_name(portico)
    portico.settings({"agents": {name: {"command": "another-program", "bypassPermissions": True}}})
    assert answer(portico) == "no"
    assert answer(portico, unasked=name) == "no"


def test_the_same_program_with_other_variables_is_asked_about(portico: Portico) -> None:
    agent = scripted(portico, bypassPermissions=True, env={"CAREFUL": "1"})
    portico.settings({"agents": {program_name(portico): agent}})
    assert answer(portico) == "no"
    assert answer(portico, "--agent", program_name(portico)) == "yes"


@pytest.mark.parametrize("name", ["claude", "porter", "mine"])
def test_what_a_trusted_workspace_calls_so_is_not_what_the_person_named(
    portico: Portico, trusted: Json, name: str
) -> None:
    portico.settings(trusted)
    portico.workspace_settings({"agents": {name: scripted(portico)}})
    assert answer(portico, "--agent", name, unasked=name) == "no"


def test_a_trusted_workspace_may_let_its_own_agent_do_everything(portico: Portico, trusted: Json) -> None:
    portico.settings(trusted)
    portico.workspace_settings({"agents": {"mine": scripted(portico, bypassPermissions=True)}})
    assert answer(portico, "--agent", "mine") == "yes"


def test_an_agent_that_is_given_by_its_command_is_let_by_that_command_only(portico: Portico) -> None:
    assert answer(portico, unasked=program_name(portico)) == "no"
    assert answer(portico, unasked=f"other, {portico.agent}") == "yes"


def test_a_list_with_nothing_in_it_lets_nobody(portico: Portico) -> None:
    assert answer(portico, unasked=" , ,") == "no"


def test_a_rule_for_an_agent_of_the_settings_is_none_for_another_program_of_that_name(
    portico: Portico,
) -> None:
    name = program_name(portico)
    rules = {"permissions": {"allow": [f"{name}/execute"]}}
    portico.settings({**rules, "agents": {name: {"command": "another-program"}}})
    assert answer(portico) == "no"
    portico.settings({**rules, "agents": {name: scripted(portico)}})
    assert answer(portico, "--agent", name) == "yes"
    portico.settings(rules)
    assert answer(portico) == "yes"
