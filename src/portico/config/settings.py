"""Settings and who owns each: the project or the user.

| setting              | owner   | order                                                     |
|----------------------|---------|-----------------------------------------------------------|
| `agent`              | project | workspace if trusted → user → built-in; never a command   |
| `agents`             | user    | user → workspace if trusted                               |
| `proxies`            | user    | user → workspace if trusted                               |
| `components`         | user    | user → workspace if trusted; only what the user installed |
| `model`              | user    | user → workspace if trusted                               |
| `models`             | user    | user → workspace if trusted                               |
| `budgets`            | user    | user; a workspace, trusted or not, can only lower each    |
| `maxCostUsd`         | user    | user → built-in; a workspace can only lower it            |
| `mcpServers`         | user    | user → workspace if trusted                               |
| `languageServers`    | user    | user → workspace if trusted                               |
| `permissions.allow`  | user    | user and workspace if trusted                             |
| `permissions.deny`   | both    | all of them, trusted or not                               |
| `review.mode`        | user    | user → workspace if trusted → built-in                    |
| `review.allow`       | user    | user → workspace if trusted                               |
| `review.deny`        | both    | all of them, trusted or not                               |
| `review.linked`      | user    | user only                                                 |
| `sandbox`            | user    | user; a workspace, trusted or not, may ask for more       |
| `promptDirectories`  | project | workspace, then user, then built-in: all are searched     |
| `sessionVariables`   | project | workspace, then user: both files are read                 |
| `trustedWorkspaces`  | user    | user only                                                 |
| `trustedPackages`    | user    | user only                                                 |

An untrusted workspace can only restrict, and supply texts: it can deny, lower budgets, and name folders of its own
with prompts and variables.
A broken workspace file counts as empty and is reported in `Settings.problems`; a broken user file is an error.
Flags and environment variables override all of these, and are handled by the commands. The settings of an editor
window come before those of the files, the user's before the user's and the folder's before the workspace's.
"""

import os
import re
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec

from portico.config.jsonc import to_json
from portico.config.language_server_settings import LanguageServerSetting
from portico.config.mcp_settings import McpServerSetting
from portico.config.model_settings import BudgetSetting, ProviderSetting
from portico.config.paths import expand_user_path
from portico.config.sandbox_settings import SandboxSetting
from portico.config.window_settings import NO_WINDOW, FolderChoices, WindowSettings
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.reviews import ReviewMode
from portico.domain.values import ToolKind
from portico.files.regular import read_regular

DEFAULT_AGENT = "porter"
AGENT_VARIABLE = "PORTICO_AGENT"
"""Sets the agent for one run, overriding the settings."""
DEFAULT_MODE: ReviewMode = "direct"
DEFAULT_MAX_COST_USD = 1.0
"""Cost limit of a turn of Porter, unless the user chooses another limit."""
WORKSPACE_FILE = Path(".portico") / "settings.json"
USER_FILE = Path("settings.json")
"""In the user's config folder."""
PROMPT_FOLDER = Path(".portico") / "prompts"
MAX_SETTINGS_BYTES = 1024 * 1024
_RULE_KINDS = frozenset((*get_args(ToolKind), "all"))
SETTINGS_ENCODING = "utf-8-sig"
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


MaxCost = Annotated[float, msgspec.Meta(ge=0)]
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


class OwnedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Absolute paths that the workspace and the user chose."""

    workspace: tuple[str, ...] = ()
    user: tuple[str, ...] = ()


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The content of one settings.json."""

    agent: str | None = None
    agents: dict[str, AgentSetting] = {}
    proxies: dict[str, ProgramSetting] = {}
    components: dict[str, ComponentSetting] = {}
    model: str | None = None
    models: dict[str, ProviderSetting] = {}
    budgets: BudgetSetting = BudgetSetting()
    max_cost_usd: MaxCost | None = None
    prompt_directories: tuple[str, ...] | None = None
    session_variables: str | None = None
    mcp_servers: dict[str, McpServerSetting] = {}
    language_servers: dict[str, LanguageServerSetting] = {}
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
    max_cost_usd: float
    prompt_directories: OwnedPaths
    session_variables: OwnedPaths
    mcp_servers: dict[str, McpServerSetting]
    language_servers: dict[str, LanguageServerSetting]
    permissions: PermissionSetting
    review: ReviewSetting
    sandbox: SandboxSetting
    trusted: bool = False
    trusted_packages: tuple[str, ...] = ()
    """Installed packages whose proxies and components may run inside Portico."""
    problems: tuple[str, ...] = ()
    """Problems of the workspace's file, which were ignored."""

    @property
    def mode(self) -> ReviewMode:
        """The review mode of a new session."""
        return self.review.mode or DEFAULT_MODE


def load_settings(config_folder: Path, workspace: Path, window: WindowSettings = NO_WINDOW) -> Settings:
    """Read and merge both files, and the settings of a window. Raises InvalidInput for a broken user file."""
    user = read_user_settings(config_folder)
    trusted = any(_is_same(expand_user_path(folder), workspace) for folder in user.trusted_workspaces)
    project, problems = read_workspace_settings(workspace, trusted=trusted)
    user, project = with_window(user, project, window)
    settings = merge_settings(user, project, config_folder, workspace)
    return msgspec.structs.replace(settings, trusted=trusted, problems=problems)


def with_window(
    user: SettingsFile, project: SettingsFile, window: WindowSettings
) -> tuple[SettingsFile, SettingsFile]:
    """Return both files with the settings of a window in place of theirs."""
    chosen = window.user
    user = msgspec.structs.replace(
        _with_choices(user, chosen),
        model=chosen.model or user.model,
        components={**user.components, **chosen.components},
        max_cost_usd=user.max_cost_usd if chosen.max_cost_usd is None else chosen.max_cost_usd,
        review=msgspec.structs.replace(user.review, mode=chosen.review_mode or user.review.mode),
        sandbox=msgspec.structs.replace(user.sandbox, level=chosen.sandbox or user.sandbox.level),
    )
    return user, _with_choices(project, window.workspace)


def _with_choices(file: SettingsFile, chosen: FolderChoices) -> SettingsFile:
    return msgspec.structs.replace(
        file,
        agent=chosen.agent or file.agent,
        prompt_directories=chosen.prompt_directories or file.prompt_directories,
        session_variables=chosen.session_variables or file.session_variables,
    )


def merge_settings(
    user: SettingsFile, project: SettingsFile, config_folder: Path, workspace: Path
) -> Settings:
    """Return the effective settings of both files, of which the project's has only what it may decide."""
    return Settings(
        agent=project.agent or user.agent or DEFAULT_AGENT,
        agents={**project.agents, **user.agents},
        proxies={**project.proxies, **user.proxies},
        components={**project.components, **user.components},
        model=user.model or project.model,
        models={**project.models, **user.models},
        budgets=user.budgets.at_most(project.budgets),
        max_cost_usd=_max_cost(user, project),
        prompt_directories=OwnedPaths(
            workspace=_beneath(workspace, project.prompt_directories or (str(PROMPT_FOLDER),)),
            user=_beneath(config_folder, user.prompt_directories or (PROMPT_FOLDER.name,)),
        ),
        session_variables=OwnedPaths(
            workspace=_beneath(workspace, _listed(project.session_variables)),
            user=_beneath(config_folder, _listed(user.session_variables)),
        ),
        mcp_servers={**project.mcp_servers, **user.mcp_servers},
        language_servers={**project.language_servers, **user.language_servers},
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
        trusted_packages=user.trusted_packages,
    )


def read_workspace_settings(workspace: Path, *, trusted: bool) -> tuple[SettingsFile, tuple[str, ...]]:
    """Return the valid part of a workspace's file, and the problems of the rest."""
    path = workspace / WORKSPACE_FILE
    try:
        found = read_settings_file(path)
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
            max_cost_usd=found.max_cost_usd,
            prompt_directories=found.prompt_directories,
            session_variables=found.session_variables,
        )
        return narrowing, problems
    kept = PermissionSetting(allow=tuple(filter(_is_rule, rules.allow)), deny=deny)
    return msgspec.structs.replace(found, permissions=kept), problems


def _max_cost(user: SettingsFile, project: SettingsFile) -> float:
    """Return the cost limit of a turn: the user's or the built-in one, or a lower one of the workspace."""
    chosen = (user.max_cost_usd, user.budgets.turn.dollars)
    allowed = min((one for one in chosen if one is not None), default=DEFAULT_MAX_COST_USD)
    narrowed = (project.max_cost_usd, project.budgets.turn.dollars)
    return min([allowed, *(one for one in narrowed if one is not None)])


def _listed(path: str | None) -> tuple[str, ...]:
    return () if path is None else (path,)


def _beneath(folder: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths as absolute ones: `~` is the user's home, and relative ones begin at the folder."""
    return tuple(os.path.normpath(folder / expand_user_path(path)) for path in paths)


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
    return read_settings_file(config_folder / USER_FILE)


def read_settings_file(path: Path) -> SettingsFile:
    try:
        text = read_regular(path, limit=MAX_SETTINGS_BYTES).decode(SETTINGS_ENCODING)
    except FileNotFoundError:
        return SettingsFile()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} cannot be read: it is not UTF-8 (byte {error.start + 1}).", suggestion=_MEND
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", suggestion=_MEND) from error
    return decode_settings(text, path)


def decode_settings(text: str, path: Path) -> SettingsFile:
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
