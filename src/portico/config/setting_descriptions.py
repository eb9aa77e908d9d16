"""Description of every setting: its owner, its effective value and the source of that value."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from portico.config.model_settings import MODEL_VARIABLE, Allowance, BudgetSetting, budgets_of_environment
from portico.config.sandbox_settings import requested_level
from portico.config.settings import (
    AGENT_VARIABLE,
    Settings,
    SettingsFile,
    load_settings,
    merge_settings,
    read_user_settings,
    read_workspace_settings,
    with_window,
)
from portico.config.window_settings import NO_WINDOW, WindowSettings

SettingOwner = Literal["project", "user"]
SettingSource = Literal["environment", "editor", "workspace", "user", "user and workspace", "built-in"]

_NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


class SettingFacts(msgspec.Struct, frozen=True):
    """The owner of a setting. A workspace's file may also set the `narrowing` keys of a user's setting."""

    owner: SettingOwner
    description: str
    narrowing: tuple[str, ...] = ()


SETTINGS: dict[str, SettingFacts] = {
    "agent": SettingFacts("project", "the agent of new sessions"),
    "agents": SettingFacts("user", "custom agents, by name"),
    "proxies": SettingFacts("user", "proxy programs that can join the chain to any agent"),
    "components": SettingFacts("user", "components of the chain: on, off or options, by name"),
    "model": SettingFacts("user", "Porter's model, as provider:model"),
    "models": SettingFacts("user", "model providers: addresses, key variables, prices"),
    "maxCostUsd": SettingFacts("user", "what a turn of Porter may cost, in dollars", ("maxCostUsd",)),
    "budgets": SettingFacts("user", "what Porter may spend in a turn, a session and a day", ("budgets",)),
    "promptDirectories": SettingFacts("project", "folders with prompts"),
    "sessionVariables": SettingFacts("project", "file with values of prompt variables"),
    "mcpServers": SettingFacts("user", "MCP servers whose tools every agent gets"),
    "languageServers": SettingFacts(
        "user", "language servers: other programs, languages and limits, by name"
    ),
    "permissions": SettingFacts(
        "user", "permission rules that allow or deny without asking", ("permissions.deny",)
    ),
    "review": SettingFacts(
        "user", "how changes reach your files, and which files they may reach", ("review.deny",)
    ),
    "sandbox": SettingFacts(
        "user", "the sandbox of agents, and exceptions from it", ("sandbox.level", "sandbox.required")
    ),
    "trustedWorkspaces": SettingFacts("user", "folders whose settings may choose programs and permissions"),
    "trustedPackages": SettingFacts(
        "user", "installed packages whose proxies and components may run inside Portico"
    ),
}


class SettingDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The effective value of a setting, its owner and its source."""

    name: str
    value_json: str
    source: SettingSource
    owner: SettingOwner
    description: str


def describe_settings(
    config_folder: Path,
    workspace: Path,
    environ: Mapping[str, str] = _NO_ENVIRONMENT,
    window: WindowSettings = NO_WINDOW,
) -> list[SettingDescription]:
    """Return all settings with their effective values, owners and sources."""
    user = read_user_settings(config_folder)
    trusted = load_settings(config_folder, workspace).trusted
    project, _ = read_workspace_settings(workspace, trusted=trusted)

    def merged(user: SettingsFile, project: SettingsFile) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(merge_settings(user, project, config_folder, workspace))
        return {"trustedWorkspaces": list(user.trusted_workspaces), **found}

    both, nothing = merged(user, project), SettingsFile()
    of_user, of_project, initial = merged(user, nothing), merged(nothing, project), merged(nothing, nothing)
    chosen = with_window(user, project, window)
    of_window = merged(*chosen)
    overridden = _overridden(environ, merge_settings(*chosen, config_folder, workspace))
    described = []
    for name, facts in SETTINGS.items():
        source: SettingSource = "built-in"
        if name in overridden:
            source = "environment"
        elif of_window[name] != both[name]:
            source = "editor"
        elif both[name] not in (of_user[name], of_project[name]):
            source = "user and workspace"
        elif both[name] != of_user[name]:
            source = "workspace"
        elif both[name] != initial[name]:
            source = "user"
        described.append(
            SettingDescription(
                name=name,
                value_json=msgspec.json.encode(overridden.get(name, of_window[name])).decode(),
                source=source,
                owner=facts.owner,
                description=facts.description,
            )
        )
    return described


def _overridden(environ: Mapping[str, str], settings: Settings) -> dict[str, Any]:
    """Return the effective values of settings that the environment overrides."""
    found: dict[str, Any] = {}
    for name, variable in (("agent", AGENT_VARIABLE), ("model", MODEL_VARIABLE)):
        if text := environ.get(variable, "").strip():
            found[name] = text
    if (level := requested_level(environ)) is not None:
        found["sandbox"] = msgspec.structs.replace(settings.sandbox, level=level)
    budgets = budgets_of_environment(environ)
    if budgets.turn.dollars is not None:
        found["maxCostUsd"] = budgets.turn.dollars
    others = msgspec.structs.replace(budgets, turn=Allowance(tokens=budgets.turn.tokens))
    if others != BudgetSetting():
        found["budgets"] = budgets.over(settings.budgets)
    return found
