"""Settings and who owns each: the project or the user.

| setting              | owner   | order                                                     |
|----------------------|---------|-----------------------------------------------------------|
| `agent`              | project | workspace if trusted → user → built-in; never a command   |
| `agents`             | user    | user → workspace if trusted                               |
| `proxies`            | user    | user → workspace if trusted                               |
| `components`         | user    | user → workspace if trusted; only what the user installed |
| `model`              | user    | user → workspace if trusted                               |
| `models`             | user    | user → workspace if trusted                               |
| `budgets`            | both    | the lower of each, trusted or not                         |
| `mcpServers`         | user    | user → workspace if trusted                               |
| `permissions.allow`  | user    | user and workspace if trusted                             |
| `permissions.deny`   | both    | all of them, trusted or not                               |
| `review.mode`        | user    | user → workspace if trusted → built-in                    |
| `review.allow`       | user    | user → workspace if trusted                               |
| `review.deny`        | both    | all of them, trusted or not                               |
| `review.linked`      | user    | user only                                                 |
| `sandbox`            | user    | user; a workspace, trusted or not, may ask for more       |
| `trustedWorkspaces`  | user    | user only                                                 |
| `trustedPackages`    | user    | user only                                                 |

An untrusted workspace can only restrict: it can deny, and lower budgets.
A broken workspace file counts as empty and is reported in `Settings.problems`; a broken user file is an error.
Flags and environment variables override all of these, and are handled by the commands.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from portico.config.jsonc import to_json
from portico.config.jsonc_editor import with_member
from portico.config.mcp_settings import McpServerSetting
from portico.config.model_settings import BudgetSetting, ProviderSetting
from portico.config.paths import expand_user_path
from portico.config.sandbox_settings import SandboxSetting
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.reviews import ReviewMode
from portico.domain.values import ToolKind
from portico.files.locks import locked
from portico.files.private import make_private_folder
from portico.files.regular import read_regular

DEFAULT_AGENT = "porter"
AGENT_VARIABLE = "PORTICO_AGENT"
"""Sets the agent for one run, overriding the settings."""
DEFAULT_MODE: ReviewMode = "direct"
WORKSPACE_FILE = Path(".portico") / "settings.json"
_LIMIT_BYTES = 1024 * 1024
_RULE_KINDS = frozenset((*get_args(ToolKind), "all"))
_ENCODING = "utf-8-sig"
"""UTF-8, with or without a byte order mark."""
_MEND = "Fix the file, or move it away to start over."
_LINE_FEED = b"\n"
_BYTE = re.compile(r"\(byte (\d+)\)$")


class ProgramSetting(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A program to run, with its arguments and additional environment variables."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class AgentSetting(ProgramSetting, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A custom agent. With `bypassPermissions` its permission requests are granted without asking.

    `keys` are variables with keys of model providers, taken from the environment or the keyring.
    """

    keys: tuple[str, ...] = ()
    bypass_permissions: bool = False


ComponentSetting = bool | dict[str, Any]
"""Whether a component is on; options switch it on too."""


class PermissionSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ReviewSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The review mode of new sessions, and the files that changes may reach.

    `linked` folders are shared with a session's working copy instead of copied.
    """

    mode: ReviewMode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The content of one settings.json."""

    agent: str | None = None
    agents: dict[str, AgentSetting] = {}
    proxies: dict[str, ProgramSetting] = {}
    components: dict[str, ComponentSetting] = {}
    model: str | None = None
    models: dict[str, ProviderSetting] = {}
    budgets: BudgetSetting = BudgetSetting()
    mcp_servers: dict[str, McpServerSetting] = {}
    permissions: PermissionSetting = PermissionSetting()
    review: ReviewSetting = ReviewSetting()
    sandbox: SandboxSetting = SandboxSetting()
    trusted_workspaces: tuple[str, ...] = ()
    trusted_packages: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effective settings of a workspace."""

    agent: str
    agents: dict[str, AgentSetting]
    proxies: dict[str, ProgramSetting]
    components: dict[str, ComponentSetting]
    model: str | None
    models: dict[str, ProviderSetting]
    budgets: BudgetSetting
    mcp_servers: dict[str, McpServerSetting]
    permissions: PermissionSetting
    review: ReviewSetting
    sandbox: SandboxSetting
    trusted: bool
    trusted_packages: tuple[str, ...] = ()
    """Installed packages whose proxies and components may run inside Portico."""
    problems: tuple[str, ...] = ()
    """Problems of the workspace's file, which were ignored."""

    @property
    def mode(self) -> ReviewMode:
        """The review mode of a new session."""
        return self.review.mode or DEFAULT_MODE


def load_settings(config_folder: Path, workspace: Path) -> Settings:
    """Read and merge both files. Raises InvalidInput for a broken user file."""
    user = read_user_settings(config_folder)
    trusted = any(_is_same(expand_user_path(folder), workspace) for folder in user.trusted_workspaces)
    project, problems = _read_workspace(workspace, trusted=trusted)
    return Settings(
        agent=project.agent or user.agent or DEFAULT_AGENT,
        agents={**project.agents, **user.agents},
        proxies={**project.proxies, **user.proxies},
        components={**project.components, **user.components},
        model=user.model or project.model,
        models={**project.models, **user.models},
        budgets=user.budgets.at_most(project.budgets),
        mcp_servers={**project.mcp_servers, **user.mcp_servers},
        permissions=PermissionSetting(
            allow=user.permissions.allow + project.permissions.allow,
            deny=user.permissions.deny + project.permissions.deny,
        ),
        review=ReviewSetting(
            mode=user.review.mode or project.review.mode,
            allow=user.review.allow or project.review.allow,
            deny=user.review.deny + project.review.deny,
            linked=user.review.linked,
        ),
        sandbox=user.sandbox.at_least(project.sandbox),
        trusted=trusted,
        trusted_packages=user.trusted_packages,
        problems=problems,
    )


def _read_workspace(workspace: Path, *, trusted: bool) -> tuple[SettingsFile, tuple[str, ...]]:
    """Return the valid part of a workspace's file, and the problems of the rest."""
    path = workspace / WORKSPACE_FILE
    try:
        found = _read(path)
    except InvalidInput as error:
        return SettingsFile(), (f"{error.message} The settings of this folder are ignored.",)
    rules = found.permissions
    broken = [rule for rule in (*rules.allow, *rules.deny) if not _is_rule(rule)]
    problems = tuple(f"{path}: {rule!r} is not a permission rule and is ignored." for rule in broken)
    deny = tuple(filter(_is_rule, rules.deny))
    if not trusted:
        narrowing = SettingsFile(
            budgets=found.budgets,
            permissions=PermissionSetting(deny=deny),
            review=ReviewSetting(deny=found.review.deny),
            sandbox=SandboxSetting(level=found.sandbox.level, required=found.sandbox.required),
        )
        return narrowing, problems
    kept = PermissionSetting(allow=tuple(filter(_is_rule, rules.allow)), deny=deny)
    return msgspec.structs.replace(found, permissions=kept), problems


def _is_rule(text: str) -> bool:
    """Return whether a text is a permission rule: `kind` or `kind:pattern`, optionally after `agent/`."""
    head, colon, pattern = text.partition(":")
    agent, slash, kind = head.rpartition("/")
    return kind in _RULE_KINDS and bool(pattern or not colon) and bool(agent or not slash)


def _is_same(folder: Path, workspace: Path) -> bool:
    """Return whether a folder in the settings is the workspace, links resolved. A relative folder never is."""
    return folder.is_absolute() and os.path.realpath(folder) == os.path.realpath(workspace)


def linked_folders(config_folder: Path) -> tuple[str, ...]:
    """Return the folders that the user shares with every working copy."""
    return read_user_settings(config_folder).review.linked


def read_user_settings(config_folder: Path) -> SettingsFile:
    """Read the user's settings. Raises InvalidInput for a broken file."""
    return _read(config_folder / "settings.json")


_DESCRIPTIONS = {
    "agent": "the agent of new sessions",
    "agents": "custom agents, by name",
    "proxies": "proxy programs that can join the chain to any agent",
    "components": "components of the chain: on, off or options, by name",
    "model": "Porter's model, as provider:model",
    "models": "model providers: addresses, key variables, prices",
    "budgets": "what Porter may spend in a turn, a session and a day",
    "mcpServers": "MCP servers whose tools every agent gets",
    "permissions": "permission rules that allow or deny without asking",
    "review": "how changes reach your files, and which files they may reach",
    "sandbox": "the sandbox of agents, and exceptions from it",
    "trustedWorkspaces": "folders whose settings may choose programs and permissions",
    "trustedPackages": "installed packages whose proxies and components may run inside Portico",
}


class SettingDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The effective value of a setting, and its source."""

    name: str
    value_json: str
    source: str
    description: str


def describe_settings(config_folder: Path, workspace: Path) -> list[SettingDescription]:
    """Return all settings with their effective values and sources."""
    settings = load_settings(config_folder, workspace)
    project, _ = _read_workspace(workspace, trusted=settings.trusted)
    holds = msgspec.to_builtins(settings)
    from_user, from_project, initial = map(
        msgspec.to_builtins, (read_user_settings(config_folder), project, SettingsFile())
    )
    described = []
    for name, description in _DESCRIPTIONS.items():
        of_user, of_project = from_user[name] != initial[name], from_project[name] != initial[name]
        project_wins = of_project and name in holds and (name == "agent" or not of_user)
        source = "workspace" if project_wins else "user" if of_user else "built-in"
        described.append(
            SettingDescription(
                name=name,
                value_json=msgspec.json.encode(holds.get(name, from_user[name])).decode(),
                source=source,
                description=description,
            )
        )
    return described


def change_user_settings(config_folder: Path, changes: Sequence[tuple[str, str]]) -> None:
    """Set user settings by name to JSON values; an empty value removes one. All or none are written."""
    path = config_folder / "settings.json"
    try:
        make_private_folder(config_folder)
        with locked(path.with_suffix(".lock")):
            text = read_regular(path, limit=_LIMIT_BYTES).decode(_ENCODING) if path.exists() else ""
            _write(path, _changed(text, changes, path))
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}.",
            suggestion="Check that its folder exists and is writable, or set PORTICO_HOME to another folder.",
        ) from error


def _changed(text: str, changes: Sequence[tuple[str, str]], path: Path) -> str:
    for name, value in changes:
        if name not in _DESCRIPTIONS:
            known = ", ".join(_DESCRIPTIONS)
            raise InvalidInput(f'Unknown setting "{name}".', suggestion=f"Settings: {known}.")
        _check_value(name, value)
        text = with_member(text, name, value or None)
    _decode(text, path)
    return text


def _write(path: Path, text: str) -> None:
    """Replace the file atomically. If it is a link, its target is replaced."""
    place = Path(os.path.realpath(path))
    fresh = place.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place)


def _check_value(name: str, value: str) -> None:
    """Parse one JSON value. Raises InvalidInput for invalid JSON."""
    try:
        codecs.decode_json(value or "null")
    except msgspec.DecodeError as error:
        raise InvalidInput(f"The value of {name} is not JSON: {error}") from error


def _read(path: Path) -> SettingsFile:
    try:
        text = read_regular(path, limit=_LIMIT_BYTES).decode(_ENCODING)
    except FileNotFoundError:
        return SettingsFile()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} cannot be read: it is not UTF-8 (byte {error.start + 1}).", suggestion=_MEND
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", suggestion=_MEND) from error
    return _decode(text, path)


def _decode(text: str, path: Path) -> SettingsFile:
    plain = to_json(text).encode()
    try:
        return codecs.decode_json(plain, SettingsFile)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path} is invalid: {_with_line(str(error), plain)}", suggestion=_MEND) from error
    except RecursionError as error:
        raise InvalidInput(f"{path} is invalid: it is nested too deeply.", suggestion=_MEND) from error


def _with_line(problem: str, plain: bytes) -> str:
    """Replace the byte offset in an error message by a line number."""

    def line(found: re.Match[str]) -> str:
        return f"(line {1 + plain[: int(found[1])].count(_LINE_FEED)})"

    return _BYTE.sub(line, problem)
