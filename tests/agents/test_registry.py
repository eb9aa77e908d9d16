"""Names of agents, and what each name starts."""

import shutil
import sys
from pathlib import Path

import pytest

from portico.agents.registry import KNOWN_AGENTS, AgentRegistry
from portico.config.settings import AgentSetting
from portico.domain.errors import AgentNotFound, InvalidInput
from tests.rpc.process_tree import script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are shell scripts")

PYTHON = "/opt/python/bin/python3"


def registry(
    *folders: Path, custom: dict[str, AgentSetting] | None = None, home: str = "/home/me"
) -> AgentRegistry:
    path = ":".join(str(folder) for folder in folders)
    return AgentRegistry(python=PYTHON, environ={"PATH": path, "HOME": home}, custom=custom)


def test_the_built_in_agent_runs_on_the_python_it_is_given() -> None:
    assert registry().resolve("porter").command == (PYTHON, "-P", "-m", "portico", "agent")


@pytest.mark.parametrize("known", KNOWN_AGENTS, ids=lambda known: known.name)
def test_a_known_agent_is_taken_from_the_path(tmp_path: Path, known: object) -> None:
    agent = next(agent for agent in KNOWN_AGENTS if agent is known)
    program = script(tmp_path, agent.program, "#!/bin/sh\n")
    spec = registry(tmp_path).resolve(agent.name)
    assert spec.command == (str(program), *agent.args)
    assert registry(tmp_path).find(agent.name) == str(program)


def test_an_agent_that_is_not_installed_is_never_fetched_to_start_it(tmp_path: Path) -> None:
    script(tmp_path, "npx", "#!/bin/sh\n")
    script(tmp_path, "npm", "#!/bin/sh\n")
    spec = registry(tmp_path).resolve("gemini")
    assert spec.command == ("gemini", "--acp")
    assert spec.install_hint == "Install it: portico agents install gemini"


def test_an_agent_that_a_person_had_installed_is_run_from_where_it_was_put(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = home / ".local" / "state" / "portico" / "agents" / "gemini" / "node_modules" / ".bin"
    folder.mkdir(parents=True)
    program = script(folder, "gemini", "#!/bin/sh\n")
    assert registry(home=str(home)).resolve("gemini").command == (str(program), "--acp")
    assert registry(home=str(home)).find("gemini") == str(program)


def test_an_agent_that_cannot_be_had_keeps_its_hint(tmp_path: Path) -> None:
    spec = registry(tmp_path).resolve("claude")
    assert spec.command == ("claude-agent-acp",)
    assert spec.install_hint == "Install it: portico agents install claude"
    assert registry(tmp_path).find("claude") is None


def test_the_users_own_agents_come_before_known_ones() -> None:
    custom = {"gemini": AgentSetting(command="my-gemini", args=("--acp", "-v"), env={"KEY": "1"})}
    spec = registry(custom=custom).resolve("gemini")
    assert (spec.command, spec.env) == (("my-gemini", "--acp", "-v"), {"KEY": "1"})


def test_a_program_is_found_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    agents = registry(custom={"mine": AgentSetting(command="~/bin/mine", args=("~/x",))})
    assert agents.resolve("mine").command == ("/home/me/bin/mine", "~/x")
    assert agents.parse_command("~/bin/mine --acp").command == ("/home/me/bin/mine", "--acp")


def test_a_session_goes_on_with_the_program_that_it_was_given_by_its_command(tmp_path: Path) -> None:
    installed, mine = tmp_path / "installed", tmp_path / "mine"
    for folder in (installed, mine):
        folder.mkdir()
        script(folder, "gemini", "#!/bin/sh\n")
    given = (str(mine / "gemini"), "--acp", "--model", "flash")
    assert registry(installed).resume("gemini", given).command == given
    (mine / "gemini").unlink()
    assert registry(installed).resume("gemini", given).command == (str(installed / "gemini"), "--acp")
    assert registry().resume("my-agent", ("my-agent", "-v")).command == ("my-agent", "-v")


def test_a_session_goes_on_with_an_agent_as_it_is_started_by_now(tmp_path: Path) -> None:
    npx, claude = script(tmp_path, "npx", "#!/bin/sh\n"), script(tmp_path, "claude-agent-acp", "#!/bin/sh\n")
    assert registry(tmp_path).resume("claude", (str(npx), "--yes", "x")).command == (str(claude),)
    custom = {"sh": AgentSetting(command="my-shell")}
    assert registry(tmp_path, custom=custom).resume("sh", ("/bin/sh", "-x")).command == ("my-shell",)
    assert registry().resume("porter", ("/old/python", "-m", "portico", "agent")).command[0] == PYTHON


def test_every_name_is_listed_once_with_the_built_in_agent_first() -> None:
    names = registry(custom={"mine": AgentSetting(command="x"), "goose": AgentSetting(command="y")}).names()
    assert names[:3] == ["porter", "mine", "goose"]
    assert len(set(names)) == len(names)
    assert "claude" in names


@pytest.mark.parametrize(
    ("name", "meant"), [("cluade", "claude"), ("Porter", "porter"), ("open-code", "opencode")]
)
def test_a_misspelt_name_gets_a_suggestion(name: str, meant: str) -> None:
    with pytest.raises(AgentNotFound, match=f'Unknown agent "{name}"') as caught:
        registry().resolve(name)
    assert (caught.value.suggestion or "").startswith(f"Did you mean {meant}? Available: porter, ")


def test_a_strange_name_gets_the_list() -> None:
    with pytest.raises(AgentNotFound) as caught:
        registry().resolve("xyzzy")
    assert (caught.value.suggestion or "").startswith("Available: porter, ")


def test_a_command_line_is_split_as_a_shell_would_and_named_after_its_program() -> None:
    spec = registry().parse_command("/opt/bin/my-agent.py --flag 'two words' \"$HOME\"")
    assert spec.name == "my-agent"
    assert spec.command == ("/opt/bin/my-agent.py", "--flag", "two words", "$HOME")


def test_a_command_line_of_a_known_program_has_its_hint() -> None:
    assert "codex-acp" in (registry().parse_command("codex-acp --verbose").install_hint or "")


@pytest.mark.parametrize("text", ["", "   ", "agent 'unclosed"])
def test_a_command_line_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        registry().parse_command(text)
    assert caught.value.suggestion


def test_a_real_program_is_found() -> None:
    shell = shutil.which("sh")
    assert shell is not None
    spec = AgentSetting(command="sh")
    assert registry(Path(shell).parent, custom={"shell": spec}).find("shell") == shell
