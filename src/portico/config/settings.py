"""Settings and who owns each: the project or the user.

| setting              | owner   | order                                                    |
|----------------------|---------|----------------------------------------------------------|
| `agent`              | project | workspace → user → built-in; a name, never a command     |
| `agents`             | user    | user → workspace, and the workspace's only if trusted    |
| `proxies`            | user    | user → workspace, and the workspace's only if trusted    |
| `model`              | user    | user → workspace, and the workspace's only if trusted    |
| `models`             | user    | user → workspace, and the workspace's only if trusted    |
| `budgets`            | both    | the lower of each: a workspace may always ask for less   |
| `mcpServers`         | user    | user → workspace, and the workspace's only if trusted    |
| `permissions.allow`  | user    | user, and the workspace's only if trusted                |
| `permissions.deny`   | both    | all of them: a workspace may always ask for less         |
| `review.mode`        | user    | user → workspace → built-in                              |
| `review.allow`       | user    | user → workspace: it narrows what may be changed         |
| `review.deny`        | both    | all of them: a workspace may always ask for less         |
| `review.linked`      | user    | user only                                                |
| `trustedWorkspaces`  | user    | user only                                                |

Flags and environment come before all of these, and are the business of the command.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.config.editing import with_member
from portico.config.jsonc import to_json
from portico.config.locking import locked
from portico.config.mcp_settings import McpServerSetting
from portico.config.model_settings import BudgetSetting, ProviderSetting
from portico.config.paths import expanded
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.reviews import ReviewMode
from portico.files.private import make_private_folder

DEFAULT_AGENT = "porter"
AGENT_VARIABLE = "PORTICO_AGENT"
"""Names the agent for one run, before the settings."""
DEFAULT_MODE: ReviewMode = "direct"
WORKSPACE_FILE = Path(".portico") / "settings.json"
_ENCODING = "utf-8-sig"
"""UTF-8, and the mark that some editors of Windows put in front of it."""
_MEND = "Mend the file, or move it away to start afresh."
_LINE_FEED = b"\n"
_BYTE = re.compile(r"\(byte (\d+)\)$")


class ProgramSetting(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A program of the user's: what to run, its arguments, and what its environment adds."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class AgentSetting(ProgramSetting, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A custom agent. With `bypassPermissions` nobody is asked about what it does."""

    bypass_permissions: bool = False


class PermissionSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ReviewSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How changes reach the files of new sessions, and which files they may reach at all.

    `linked` folders are shared with the place where a session works, instead of copied into it.
    """

    mode: ReviewMode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One settings.json, as written."""

    agent: str | None = None
    agents: dict[str, AgentSetting] = {}
    proxies: dict[str, ProgramSetting] = {}
    model: str | None = None
    models: dict[str, ProviderSetting] = {}
    budgets: BudgetSetting = BudgetSetting()
    mcp_servers: dict[str, McpServerSetting] = {}
    permissions: PermissionSetting = PermissionSetting()
    review: ReviewSetting = ReviewSetting()
    trusted_workspaces: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What holds for a workspace, after all owners had their say."""

    agent: str
    agents: dict[str, AgentSetting]
    proxies: dict[str, ProgramSetting]
    model: str | None
    models: dict[str, ProviderSetting]
    budgets: BudgetSetting
    mcp_servers: dict[str, McpServerSetting]
    permissions: PermissionSetting
    review: ReviewSetting
    trusted: bool

    @property
    def mode(self) -> ReviewMode:
        """How changes reach the files of a new session."""
        return self.review.mode or DEFAULT_MODE


def load_settings(config_folder: Path, workspace: Path) -> Settings:
    """Read both files and settle who wins. InvalidInput names the file and the place."""
    user = _read(config_folder / "settings.json")
    project = _read(workspace / WORKSPACE_FILE)
    trusted = any(_is_same(expanded(folder), workspace) for folder in user.trusted_workspaces)
    from_project = project if trusted else SettingsFile()
    return Settings(
        agent=project.agent or user.agent or DEFAULT_AGENT,
        agents={**from_project.agents, **user.agents},
        proxies={**from_project.proxies, **user.proxies},
        model=user.model or from_project.model,
        models={**from_project.models, **user.models},
        budgets=user.budgets.at_most(project.budgets),
        mcp_servers={**from_project.mcp_servers, **user.mcp_servers},
        permissions=PermissionSetting(
            allow=user.permissions.allow + from_project.permissions.allow,
            deny=user.permissions.deny + project.permissions.deny,
        ),
        review=ReviewSetting(
            mode=user.review.mode or project.review.mode,
            allow=user.review.allow or project.review.allow,
            deny=user.review.deny + project.review.deny,
            linked=user.review.linked,
        ),
        trusted=trusted,
    )


def _is_same(folder: Path, workspace: Path) -> bool:
    """Whether a folder of the settings is the workspace, perhaps by a link. One named in part is nobody's."""
    return folder.is_absolute() and os.path.realpath(folder) == os.path.realpath(workspace)


def linked_folders(config_folder: Path) -> tuple[str, ...]:
    """Names of folders that the user shares with every place where a session works."""
    return _read(config_folder / "settings.json").review.linked


def read_user_settings(config_folder: Path) -> SettingsFile:
    """What the user wrote, without any workspace. InvalidInput names the file and the place."""
    return _read(config_folder / "settings.json")


_DESCRIPTIONS = {
    "agent": "the agent that new sessions talk to",
    "agents": "agents of your own, by name",
    "proxies": "programs that stand between you and every agent",
    "model": "the model that Porter talks to, as provider:model",
    "models": "providers of models: addresses, variables of keys, prices",
    "budgets": "what Porter may spend in a turn, a session and a day",
    "mcpServers": "MCP servers whose tools every agent gets",
    "permissions": "what is allowed or denied without asking",
    "review": "how changes reach your files, and which files they may reach",
    "trustedWorkspaces": "folders whose own settings may choose programs and permissions",
}


class DescribedSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it holds for a workspace, and whose it is."""

    name: str
    value_json: str
    source: str
    description: str


def describe_settings(config_folder: Path, workspace: Path) -> list[DescribedSetting]:
    """Every setting that can be written in a file, with what holds and where it comes from."""
    user = msgspec.to_builtins(_read(config_folder / "settings.json"))
    project = msgspec.to_builtins(_read(workspace / WORKSPACE_FILE))
    holds = msgspec.to_builtins(load_settings(config_folder, workspace))
    initial = msgspec.to_builtins(SettingsFile())
    described = []
    for name, description in _DESCRIPTIONS.items():
        from_user, from_project = user[name] != initial[name], project[name] != initial[name]
        heard = holds["trusted"] or name == "review"
        project_wins = from_project and (name == "agent" or (heard and not from_user))
        source = "workspace" if project_wins else "user" if from_user else "built-in"
        value = holds.get(name, user[name])
        described.append(
            DescribedSetting(
                name=name,
                value_json=msgspec.json.encode(value).decode(),
                source=source,
                description=description,
            )
        )
    return described


def change_user_settings(config_folder: Path, changes: Sequence[tuple[str, str]]) -> None:
    """Set the user's own settings by name and JSON; an empty value takes one away. All of them, or none."""
    path = config_folder / "settings.json"
    try:
        make_private_folder(config_folder)
        with locked(path.with_suffix(".lock")):
            text = path.read_text(encoding=_ENCODING) if path.exists() else ""
            _write(path, _changed(text, changes, path))
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}.",
            suggestion="See that its folder exists and is yours, or set PORTICO_HOME to another folder.",
        ) from error


def _changed(text: str, changes: Sequence[tuple[str, str]], path: Path) -> str:
    for name, value in changes:
        if name not in _DESCRIPTIONS:
            known = ", ".join(_DESCRIPTIONS)
            raise InvalidInput(f"There is no setting {name!r}.", suggestion=f"Settings: {known}.")
        _check_value(name, value)
        text = with_member(text, name, value or None)
    _decode(text, path)
    return text


def _write(path: Path, text: str) -> None:
    """Put the text in the place of the file, at once. A link to a file that is kept elsewhere stays one."""
    place = Path(os.path.realpath(path))
    fresh = place.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place)


def _check_value(name: str, value: str) -> None:
    """A value is one JSON text: not a part of one, and not two."""
    try:
        codecs.decode_json(value or "null")
    except msgspec.DecodeError as error:
        raise InvalidInput(f"The value of {name} is not JSON: {error}") from error


def _read(path: Path) -> SettingsFile:
    try:
        text = path.read_text(encoding=_ENCODING)
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
        raise InvalidInput(
            f"{path} is not right: {_with_line(str(error), plain)}", suggestion=_MEND
        ) from error


def _with_line(problem: str, plain: bytes) -> str:
    """The problem with the line that a person finds in their editor, for a byte of the plain JSON."""

    def line(found: re.Match[str]) -> str:
        return f"(line {1 + plain[: int(found[1])].count(_LINE_FEED)})"

    return _BYTE.sub(line, problem)
