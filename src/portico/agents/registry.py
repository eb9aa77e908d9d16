"""Registry of agents by name and how each is started: built-in, known, and from the settings.

A known agent is looked up on PATH, then among those installed by `portico agents install`. Agents of the public
registry are only those that were installed.
"""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

import msgspec

from portico.agents.installation import installed_program
from portico.agents.program_check import check_installation
from portico.agents.public_registry import load_registry
from portico.agents.registry_installation import installed_agents
from portico.config.paths import expand_user_path
from portico.config.settings import AgentSetting
from portico.domain.catalog import AgentEntry
from portico.domain.errors import AgentNotFound, ErrorDetails, InvalidInput
from portico.processes.executables import CannotRun, find_program
from portico.sessions.ports import AgentSpec

PORTER = "porter"


class KnownAgent(msgspec.Struct, frozen=True, kw_only=True):
    """A program that speaks ACP: its name on PATH, its arguments, and its npm package if it has one.

    `folders` are where it keeps its configuration and its state.
    """

    name: str
    program: str
    args: tuple[str, ...] = ()
    package: str | None = None
    keys: tuple[str, ...] | None = ()
    """Provider key variables that it uses; None for those of all providers."""
    folders: tuple[str, ...] = ()

    @property
    def install_hint(self) -> str:
        if self.package is None:
            return f"Install {self.program} and have it on PATH."
        return _install_hint(self.name)


KNOWN_AGENTS = (
    KnownAgent(
        name="claude",
        program="claude-agent-acp",
        package="@agentclientprotocol/claude-agent-acp",
        keys=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
        ),
        folders=("$CLAUDE_CONFIG_DIR", "~/.claude", "~/.claude.json"),
    ),
    KnownAgent(
        name="codex",
        program="codex-acp",
        package="@agentclientprotocol/codex-acp",
        keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
        folders=("$CODEX_HOME", "~/.codex"),
    ),
    KnownAgent(
        name="copilot",
        program="copilot",
        args=("--acp",),
        package="@github/copilot",
        folders=("~/.copilot", "$XDG_CONFIG_HOME/github-copilot"),
    ),
    KnownAgent(
        name="gemini",
        program="gemini",
        args=("--acp",),
        package="@google/gemini-cli",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        folders=("~/.gemini",),
    ),
    KnownAgent(
        name="goose",
        program="goose",
        args=("acp",),
        keys=None,
        folders=("$XDG_CONFIG_HOME/goose", "$XDG_DATA_HOME/goose", "$XDG_STATE_HOME/goose"),
    ),
    KnownAgent(
        name="opencode",
        program="opencode",
        args=("acp",),
        package="opencode-ai",
        keys=None,
        folders=(
            "$XDG_CONFIG_HOME/opencode",
            "$XDG_DATA_HOME/opencode",
            "$XDG_STATE_HOME/opencode",
            "$XDG_CACHE_HOME/opencode",
        ),
    ),
    KnownAgent(
        name="qwen",
        program="qwen",
        args=("--acp",),
        package="@qwen-code/qwen-code",
        keys=("DASHSCOPE_API_KEY", "OPENAI_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
        folders=("~/.qwen",),
    ),
)


class AgentRegistry:
    """Resolves names to commands. `python` runs the built-in agent; `custom` comes from the settings."""

    def __init__(
        self, *, python: str, environ: Mapping[str, str], custom: Mapping[str, AgentSetting] | None = None
    ) -> None:
        self._python = python
        self._environ = dict(environ)
        self._custom = dict(custom or {})
        self._known = {agent.name: agent for agent in KNOWN_AGENTS}

    def names(self) -> list[str]:
        """Every name that can be resolved: the built-in agent, the user's own, then the known ones."""
        return list(dict.fromkeys((PORTER, *self._custom, *self._known, *installed_agents(self._environ))))

    def resolve(self, name: str) -> AgentSpec:
        """The named agent, ready to start. AgentNotFound if there is none."""
        if name in self._custom:
            setting = self._custom[name]
            command = (_expand_home(setting.command), *setting.args)
            return AgentSpec(
                name=name,
                command=command,
                env=setting.env,
                keys=_join_keys(setting.keys, _keys_of(command)),
                login_hint=login_command(name),
            )
        if name == PORTER:
            # The workspace must not be first on Python's import path.
            return AgentSpec(name=PORTER, command=(self._python, "-P", "-m", "portico", "agent"), keys=None)
        if name in self._known:
            known = self._known[name]
            return AgentSpec(
                name=name,
                command=self._command(known),
                keys=known.keys,
                install_hint=known.install_hint,
                login_hint=login_command(name),
            )
        if (installed := installed_agents(self._environ).get(name)) is not None:
            return AgentSpec(
                name=name,
                command=installed.command(self._environ),
                env=installed.env,
                keys=(),
                install_hint=_install_hint(name),
                login_hint=login_command(name),
            )
        if name in load_registry(self._environ).entries:
            return AgentSpec(name=name, command=(name,), keys=(), install_hint=_install_hint(name))
        raise AgentNotFound(
            f'Unknown agent "{name}".',
            suggestion=f"{_did_you_mean(name, self.names())}Available: {', '.join(self.names())}.",
            details=ErrorDetails(agent=name),
        )

    def resume(self, name: str, command: Sequence[str]) -> AgentSpec:
        """The agent of an existing session, ready to start.

        One of the settings, or of Portico's own, may be started otherwise by now. One that was given by its command
        is named after its program, and continues as that command for as long as that is there: of the same name may
        be quite another program.
        """
        named_after_program = bool(command) and PurePath(command[0]).stem == name and name not in self._custom
        if name in self.names() and not (named_after_program and self._is_there(command[0])):
            return self.resolve(name)
        words = shlex.join(command)
        return AgentSpec(
            name=name,
            command=tuple(command),
            keys=_keys_of(command),
            login_hint=login_command("--agent-command", words),
        )

    def choose(self, *, name: str | None, command: str | None, default: str) -> AgentSpec:
        """The agent that a command line gives, else the named one, else the default."""
        return self.parse_command(command) if command else self.resolve(name or default)

    def find(self, name: str) -> str | None:
        """The program that would run for a name, if it is on this machine."""
        try:
            return self._find(self.resolve(name).command[0])
        except CannotRun:
            return None

    def problem(self, name: str) -> CannotRun | None:
        """The reason why an installed agent cannot run, judged by its files; None if it is not installed.

        The person's own agents have to be there.
        """
        try:
            check_installation(self.resolve(name).command, cwd=Path.cwd(), environ=self._environ)
        except CannotRun as error:
            return None if error.absent and self.known(name) is not None else error
        return None

    def describe(self, name: str, default: str) -> AgentEntry:
        """The agent `name` as the list of agents shows it."""
        spec, program = self.resolve(name), self.find(name)
        if (problem := self.problem(name)) is not None:
            return AgentEntry(
                name=name,
                command=spec.command,
                installed=False,
                default=name == default,
                hint=problem.suggestion or spec.install_hint,
                problem=f"{problem.reason[:1].upper()}{problem.reason[1:]}.",
            )
        return AgentEntry(
            name=name,
            command=spec.command,
            installed=program is not None,
            default=name == default,
            hint=spec.install_hint,
        )

    def parse_command(self, text: str) -> AgentSpec:
        """The agent that a whole command line starts, named after its program."""
        try:
            words = shlex.split(text, posix=sys.platform != "win32")
        except ValueError as error:
            raise InvalidInput(
                f"The agent's command cannot be understood: {error}.",
                suggestion="Put arguments with spaces in quotes, and close every quote.",
            ) from error
        if not words:
            raise InvalidInput(
                "The agent's command is empty.", suggestion='Give a program: --agent-command "my-agent --acp"'
            )
        words[0] = _expand_home(words[0])
        name = PurePath(words[0]).stem or words[0]
        by_program = {
            agent.program: f"Install it: npm install --global {agent.package}"
            for agent in KNOWN_AGENTS
            if agent.package is not None
        }
        return AgentSpec(
            name=name,
            command=tuple(words),
            keys=_keys_of(words),
            install_hint=by_program.get(words[0]),
            login_hint=login_command("--agent-command", text),
        )

    def _command(self, agent: KnownAgent) -> tuple[str, ...]:
        try:
            return (self._find(agent.program), *agent.args)
        except CannotRun:
            found = installed_program(agent.name, agent.program, self._environ)
            return (agent.program if found is None else str(found), *agent.args)

    def known(self, name: str) -> KnownAgent | None:
        """The known agent with a name, unless the settings give the name to another."""
        return None if name in self._custom else self._known.get(name)

    def _is_there(self, program: str) -> bool:
        try:
            self._find(program)
        except CannotRun:
            return False
        return True

    def _find(self, program: str) -> str:
        return find_program(program, cwd=Path.cwd(), environ=self._environ)


def _keys_of(command: Sequence[str]) -> tuple[str, ...] | None:
    """The provider keys of the known agent that a command starts, by its program or package."""
    words = [PurePath(word).name for word in command]
    if words[-2:] == ["portico", "agent"]:
        return None
    for agent in KNOWN_AGENTS:
        package = agent.package or agent.program
        if agent.program in words or any(
            word.rpartition("@")[0] == package or word == package for word in command
        ):
            return agent.keys
    return ()


def _join_keys(some: tuple[str, ...], others: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if others is None else (*some, *others)


def _install_hint(name: str) -> str:
    return f"Install it: portico agents install {name}"


def login_command(*words: str) -> str:
    """The command with which a person signs in to an agent."""
    return shlex.join(("portico", "agents", "login", *words))


def _expand_home(program: str) -> str:
    """A program path with ~ expanded, since no shell does that."""
    return str(expand_user_path(program)) if program.startswith("~") else program


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    return f"Did you mean {close[0]}? " if close else ""
