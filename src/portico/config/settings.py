"""Settings and who owns each: the project or the user.

| setting              | owner   | order                                                    |
|----------------------|---------|----------------------------------------------------------|
| `agent`              | project | workspace → user → built-in; a name, never a command     |
| `agents`             | user    | user → workspace, and the workspace's only if trusted    |
| `proxies`            | user    | user → workspace, and the workspace's only if trusted    |
| `permissions.allow`  | user    | user, and the workspace's only if trusted                |
| `permissions.deny`   | both    | all of them: a workspace may always ask for less         |
| `trustedWorkspaces`  | user    | user only                                                |

Flags and environment come before all of these, and are the business of the command.
"""

from pathlib import Path

import msgspec

from portico.config.jsonc import to_json
from portico.domain.errors import InvalidInput

DEFAULT_AGENT = "porter"
WORKSPACE_FILE = Path(".portico") / "settings.json"


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


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One settings.json, as written."""

    agent: str | None = None
    agents: dict[str, AgentSetting] = {}
    proxies: dict[str, ProgramSetting] = {}
    permissions: PermissionSetting = PermissionSetting()
    trusted_workspaces: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a workspace, after all owners had their say."""

    agent: str
    agents: dict[str, AgentSetting]
    proxies: dict[str, ProgramSetting]
    permissions: PermissionSetting
    trusted: bool


def load_settings(config_folder: Path, workspace: Path) -> Settings:
    """Read both files and settle who wins. InvalidInput names the file and the place."""
    user = _read(config_folder / "settings.json")
    project = _read(workspace / WORKSPACE_FILE)
    trusted = any(Path(folder).expanduser() == workspace for folder in user.trusted_workspaces)
    from_project = project if trusted else SettingsFile()
    return Settings(
        agent=project.agent or user.agent or DEFAULT_AGENT,
        agents={**from_project.agents, **user.agents},
        proxies={**from_project.proxies, **user.proxies},
        permissions=PermissionSetting(
            allow=user.permissions.allow + from_project.permissions.allow,
            deny=user.permissions.deny + project.permissions.deny,
        ),
        trusted=trusted,
    )


def _read(path: Path) -> SettingsFile:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return SettingsFile()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from error
    try:
        return msgspec.json.decode(to_json(text), type=SettingsFile)
    except msgspec.DecodeError as error:
        raise InvalidInput(
            f"{path} is not right: {error}", suggestion="Mend the file, or move it away to start afresh."
        ) from error
