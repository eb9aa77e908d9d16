"""Commands before an editor starts `portico acp`: its help, and which agents work here."""

import shlex

import pytest

from portico import __version__
from tests.support.editor import typescript_agent
from tests.support.program import Portico
from tests.support.stream import Json


def agents(**commands: str) -> Json:
    """Settings with agents of one's own."""
    split = {name: shlex.split(command) for name, command in commands.items()}
    return {"agents": {name: {"command": words[0], "args": words[1:]} for name, words in split.items()}}


class TestHelp:
    def test_it_says_how_an_editor_starts_it(self, portico: Portico) -> None:
        ran = portico.run("acp", "--help")
        assert (ran.code, ran.err) == (0, "")
        for flag in (
            "--agent NAME",
            "--agent-command CMD",
            "--proxy NAME",
            "--no-proxies",
            "--mcp-bridge",
            "--start-limit SECONDS",
            "docs/editors.md",
        ):
            assert flag in ran.text

    @pytest.mark.parametrize(
        "words",
        [("--wings",), ("--agent", "a", "--agent-command", "b"), ("--proxy",), ("--start-limit", "0")],
    )
    def test_what_it_does_not_understand_is_said_on_standard_error(
        self, portico: Portico, words: tuple[str, ...]
    ) -> None:
        ran = portico.run("acp", *words)
        assert (ran.code, ran.out) == (5, b"")
        assert "See portico acp --help" in ran.err


class TestList:
    def test_it_shows_every_agent_and_which_is_the_default(self, portico: Portico) -> None:
        portico.settings({"agent": "mine", **agents(mine=typescript_agent(portico), theirs="gone")})
        lines = {line.split()[1]: line for line in portico.run("agents", "list").text.splitlines()}
        assert {"porter", "mine", "theirs", "claude", "codex", "gemini", "opencode", "goose", "qwen"} <= set(
            lines
        )
        assert lines["porter"].startswith("✓")
        assert lines["mine"].startswith("✓")
        assert lines["theirs"].startswith("✗")
        assert [name for name, line in lines.items() if "(default)" in line] == ["mine"]

    def test_a_program_reads_the_same(self, portico: Portico) -> None:
        portico.settings(agents(theirs="gone --acp"))
        listed = portico.run("agents", "list", "--api").api
        assert listed["status"] == "ok"
        known = {agent["name"]: agent for agent in listed["agents"]}
        assert known["theirs"]["command"] == ["gone", "--acp"]
        assert not known["theirs"]["installed"]
        assert known["porter"]["installed"]
        assert known["porter"]["default"]


class TestCheck:
    def test_it_shows_what_an_agent_can_do(self, portico: Portico) -> None:
        portico.settings(agents(mine=typescript_agent(portico)))
        ran = portico.run("agents", "check", "mine")
        assert (ran.code, ran.err) == (0, "")
        first, *rest = ran.text.splitlines()
        assert first == "✓ mine  typescript-agent 1.0.0"
        assert [line.split(maxsplit=1)[1] for line in rest if line.startswith("  can")] == ["load"]

    def test_what_proxies_bring_is_not_taken_for_the_agents_own(self, portico: Portico) -> None:
        portico.settings(agents(mine=typescript_agent(portico)))
        checked = portico.run("agents", "check", "mine", "--api").api
        assert checked["agent"]["capabilities"] == ["load"]

    def test_the_built_in_one_is_ready(self, portico: Portico) -> None:
        checked = portico.run("agents", "check", "porter", "--api").api
        assert checked["status"] == "ok"
        assert (checked["agent"]["version"], checked["agent"]["ready"]) == (f"porter {__version__}", True)

    def test_one_that_is_missing_is_named_with_what_to_do(self, portico: Portico) -> None:
        portico.settings(agents(mine="no-such-agent"))
        ran = portico.run("agents", "check", "mine")
        assert ran.code == 2
        assert ran.text.startswith("✗ mine")
        assert "“no-such-agent” was not found on PATH" in ran.text
        assert "Check its spelling, or give its full path." in ran.text

    def test_one_that_ends_at_once_is_shown_with_its_last_words(self, portico: Portico) -> None:
        portico.settings(agents(mine="sh -c 'echo I have no key >&2; exit 4'"))
        ran = portico.run("agents", "check", "mine")
        assert ran.code == 2
        assert "exit code 4" in ran.text
        assert "I have no key" in ran.text

    def test_a_failure_reads_like_that_of_any_other_command(self, portico: Portico) -> None:
        portico.settings(agents(mine="sh -c 'echo no key >&2; exit 4'"))
        ran = portico.run("agents", "check", "mine", "--api")
        assert ran.code == 2
        assert ran.api["status"] == "failed"
        assert "mine" in ran.api["error"]
        assert ran.api["diagnostics"]["error_code"] == "AGENT_CRASHED"
        assert ran.api["diagnostics"]["exit_code"] == 2
        assert ran.api["diagnostics"]["trace_id"]
        assert (ran.api["agent"]["name"], ran.api["agent"]["ready"]) == ("mine", False)

    @pytest.mark.parametrize(("words", "code"), [(("nobody",), 2), ((), 5)])
    def test_a_name_that_nobody_has_is_refused(
        self, portico: Portico, words: tuple[str, ...], code: int
    ) -> None:
        ran = portico.run("agents", "check", *words, "--api")
        assert ran.code == ran.api["diagnostics"]["exit_code"] == code
        assert ran.api["diagnostics"]["suggestion"]
