"""A machine without Portico, in a real VS Code: the extension installs the one that it carries, and starts it."""

import sys
import sysconfig
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import say
from tests.browser.user_environment import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT, Open, Serve

pytestmark = pytest.mark.asyncio(loop_scope="session")

# What a new environment needs is taken from the one that runs the tests, pip included, so nothing is fetched. It is
# there from the beginning, as if pip had found it on its index; Portico itself comes from the wheel.
PYTHON = """#!/bin/sh
[ "$2" = venv ] || exec {python} "$@"
{python} -m venv --without-pip "$3" || exit
echo {needed} > "$(echo "$3"/lib/python*/site-packages)/needed.pth"
"""


def path_without_portico(place: Path) -> str:
    """A PATH with a Python and without Portico."""
    needed, programs = place / "needed", place / "bin"
    needed.mkdir(parents=True)
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if not one.name.lower().startswith(("portico", "_portico", "__editable__")):
            (needed / one.name).symlink_to(one)
    programs.mkdir()
    python = programs / "python3"
    python.write_text(PYTHON.format(python=Path(sys.executable).resolve(), needed=needed))
    python.chmod(0o755)
    return f"{programs}:/usr/bin:/bin"


def give_path(house: House, path: str) -> None:
    """VS Code asks the login shell for it."""
    for name in (".profile", ".bash_profile"):
        (house.home / name).write_text(f"export PATH={path}\n")


# An environment and an install take their time on a busy machine.
@pytest.mark.timeout(300)
async def test_portico_is_installed_on_request_where_there_is_none(
    own_house: House, tmp_path: Path, serve: Serve, open_window: Open
) -> None:
    path = path_without_portico(tmp_path / "machine")
    give_path(own_house, path)
    # Most of what pip would compile is never imported here.
    environ = {"PATH": path, "PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1"}
    server = serve(own_house, environ=environ, settings={"portico.program": ""})
    window = await open_window(own_house.workspace, server)
    await window.show()
    await window.told("there is no portico program on the PATH")
    await window.page.screenshot(path=OUTPUT / "first.png")
    await window.answer("there is no portico program on the PATH", "Install")
    environment = server.data / "User" / "globalStorage" / "portico.portico" / "environment"
    wait_until((environment / "wheel.txt").exists, "the environment", seconds=120)
    chat = await window.open_chat()
    assert str(environment) in " ".join(own_house.server.process.cmdline())
    await chat.tell(say("At last."))
    await expect(chat.answers.last).to_contain_text("At last.")
