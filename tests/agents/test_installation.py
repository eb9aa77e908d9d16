"""Agents from npm: nothing is fetched before a person has said yes to the package and its version."""

import argparse
import sys
from pathlib import Path

import pytest

from portico.agents.registry import AgentRegistry
from portico.cli.agent_installation import install_agent
from portico.domain.errors import AgentNotFound, InvalidInput, StoreFailed
from tests.rpc.process_tree import script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are shell scripts")

NPM = """#!/bin/sh
echo "$PWD: $*" >> "$HOME/calls"
case "$1" in
view) echo 1.2.3 ;;
install) mkdir -p "$3/node_modules/.bin" && printf '#!/bin/sh\\n' > "$3/node_modules/.bin/gemini" &&
    chmod +x "$3/node_modules/.bin/gemini" ;;
esac
"""


class Machine:
    """A machine with an npm that notes what it is told."""

    def __init__(self, home: Path, npm: str = NPM) -> None:
        self.home = home
        programs = home / "bin"
        programs.mkdir()
        script(programs, "npm", npm)
        self.environ = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home)}
        self.registry = AgentRegistry(python=sys.executable, environ=self.environ)

    def install(self, name: str, *, yes: bool = False, api: bool = False) -> int:
        flags = argparse.Namespace(yes=yes, api=api)
        return install_agent(self.registry, name, self.environ, flags)

    @property
    def calls(self) -> list[str]:
        noted = self.home / "calls"
        return [line.partition(": ")[2] for line in noted.read_text().splitlines()] if noted.exists() else []


def test_looking_for_an_agent_runs_no_npm(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name in machine.registry.names():
        machine.registry.resolve(name)
        machine.registry.find(name)
    assert machine.calls == []


def test_without_a_yes_the_package_and_version_are_named_and_nothing_is_fetched(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with pytest.raises(InvalidInput, match=r"@google/gemini-cli@1\.2\.3") as caught:
        machine.install("gemini")
    assert caught.value.suggestion == "Confirm with: portico agents install gemini --yes"
    assert machine.calls == ["view @google/gemini-cli version"]
    assert machine.registry.find("gemini") is None


def test_with_a_yes_the_very_version_is_installed_and_the_agent_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(tmp_path)
    for _ in range(2):  # A second time it takes the place of the first.
        assert machine.install("gemini", yes=True) == 0
    assert "Installed @google/gemini-cli@1.2.3 for gemini in " in capsys.readouterr().out
    assert machine.calls[1].endswith(" @google/gemini-cli@1.2.3")
    folder = tmp_path / ".local" / "state" / "portico" / "agents"
    assert [one.name for one in folder.iterdir()] == ["gemini"]
    command = machine.registry.resolve("gemini").command
    assert command == (str(folder / "gemini" / "node_modules" / ".bin" / "gemini"), "--acp")


def test_an_installation_that_fails_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    npm = "#!/bin/sh\nif [ $1 = view ]; then echo 1.2.3; else echo 'no route to host' >&2; exit 1; fi\n"
    machine = Machine(tmp_path, npm)
    with pytest.raises(StoreFailed, match="no route to host"):
        machine.install("gemini", yes=True)
    assert list((tmp_path / ".local" / "state" / "portico" / "agents").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "error"), [("porter", InvalidInput), ("goose", AgentNotFound), ("x", AgentNotFound)]
)
def test_what_is_in_no_package_cannot_be_installed(tmp_path: Path, name: str, error: type[Exception]) -> None:
    machine = Machine(tmp_path)
    with pytest.raises(error):
        machine.install(name, yes=True)
    assert machine.calls == []
