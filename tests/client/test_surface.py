"""The public names of portico.client, each documented and typed, without cost for commands."""

import inspect
import subprocess
import sys
from typing import get_type_hints

import pytest

from portico import client
from portico.domain.events import PAYLOADS

SURFACE = {
    "Client": ["delete_session", "get_session", "list_sessions", "start_session"],
    "Session": [
        "answer",
        "apply",
        "apply_choice",
        "call_extension",
        "components",
        "decide",
        "discard",
        "discard_choice",
        "finish",
        "hand_off",
        "id",
        "is_open_elsewhere",
        "notify_extension",
        "prompt",
        "proposals",
        "refresh",
        "restore",
        "set_mode",
        "set_option",
        "stop",
        "stop_tool",
        "switch_components",
        "undo",
        "watch",
        "write_todos",
    ],
}
ERRORS = ["InvalidInput", "PorticoError", "ServerLost", "SessionBusy", "SessionNotFound"]
VALUES = ["ApplyReport", "ComponentStatus", "Event", "SessionSummary", "TodoItem"]


def test_the_public_names_are_these() -> None:
    payloads = [payload.__name__ for payload in PAYLOADS.values()]
    assert sorted(client.__all__) == sorted(["connect", *SURFACE, *ERRORS, *VALUES, *payloads])
    assert dir(client) == client.__all__


@pytest.mark.parametrize("name", sorted(client.__all__))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(client, name).__name__ == name


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Frobnicate'"):
        _ = client.Frobnicate


@pytest.mark.parametrize("name", sorted(SURFACE))
def test_the_public_methods_are_these_and_each_says_what_it_does(name: str) -> None:
    kind = getattr(client, name)
    members = {member for member in vars(kind) if not member.startswith("_")}
    assert sorted(members) == SURFACE[name]
    for member in (kind, client.connect, *(getattr(kind, one) for one in members)):
        assert inspect.getdoc(member)
        if inspect.isfunction(member):
            assert "return" in get_type_hints(member)


def test_a_command_that_uses_the_package_does_not_load_the_http_client() -> None:
    code = "import sys, portico.client.turn; print('pyqwest' in sys.modules, 'connectrpc' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
