"""Flags of `exec` and `chat` against every setting: they come before the environment, and before both files."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from portico.agents.registry import AgentRegistry
from portico.chains.built_in_components import open_components
from portico.chains.permission_policy import permission_policy
from portico.cli.arguments import CommandParser
from portico.cli.session_options import (
    add_session_flags,
    agent_options_of,
    chain_options_of,
    choose_agent,
    choose_mode,
    environ_with_limits,
)
from portico.config.setting_descriptions import SETTINGS, describe_settings
from portico.config.settings import load_settings
from portico.editors.local import LocalEditorProvider

SOURCES = ("nothing", "user", "trusted", "both", "untrusted")


class Folders:
    """A workspace and a configuration folder, with one setting in the files of a source."""

    def __init__(self, top: Path, name: str, source: str) -> None:
        self.home, self.workspace = top / "home", top / "workspace"
        of_user, of_project = FILES.get(name, (None, None))
        user: dict[str, Any] = {}
        if source in ("user", "both"):
            user[name] = of_user
        if source in ("trusted", "both"):
            user["trustedWorkspaces"] = [str(self.workspace)]
        _write(self.config / "settings.json", user)
        project = {name: of_project} if source not in ("nothing", "user") else {}
        _write(self.workspace / ".portico" / "settings.json", project)

    @property
    def config(self) -> Path:
        return self.home / "config"


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))


Effective = Callable[[argparse.Namespace, Folders, Mapping[str, str]], object]


def of_description(name: str) -> Effective:
    """The value that `portico config` would show in the environment of this run."""

    def effective(flags: argparse.Namespace, folders: Folders, environ: Mapping[str, str]) -> object:
        described = describe_settings(folders.config, folders.workspace, environ_with_limits(flags, environ))
        return json.loads({one.name: one for one in described}[name].value_json)

    return effective


def agent(flags: argparse.Namespace, folders: Folders, environ: Mapping[str, str]) -> object:
    settings = load_settings(folders.config, folders.workspace)
    registry = AgentRegistry(python=sys.executable, environ=environ, custom=settings.agents)
    return choose_agent(flags, settings, None, registry, environ).name


def mode(flags: argparse.Namespace, folders: Folders, _: Mapping[str, str]) -> object:
    return choose_mode(flags, load_settings(folders.config, folders.workspace), None)


def model(flags: argparse.Namespace, _: Folders, __: Mapping[str, str]) -> object:
    """The option that the session's agent is given, which comes before its settings."""
    return agent_options_of(flags)["model"]


def components(flags: argparse.Namespace, folders: Folders, environ: Mapping[str, str]) -> object:
    registry = open_components(environ, lambda: LocalEditorProvider(environ))
    settings = load_settings(folders.config, folders.workspace)
    chosen = {one.name for one in registry.chosen(settings, chain_options_of(flags).components)}
    return {name: name in chosen for name in ("history", "memory")}


def permissions(flags: argparse.Namespace, folders: Folders, environ: Mapping[str, str]) -> object:
    """Whether the rules of the flags hold, beside those of the settings."""
    settings = load_settings(folders.config, folders.workspace)
    spec = AgentRegistry(python=sys.executable, environ=environ, custom={}).resolve("porter")
    policy = permission_policy(spec, settings, chain_options_of(flags), environ)
    allowed, denied = ([rule.text for rule in rules] for rules in (policy.allow, policy.deny))
    return {"allow": "edit:flag/*" in allowed, "deny": "edit:flag/x" in denied}


FILES: dict[str, tuple[object, object]] = {
    "agent": ("u", "p"),
    "components": ({"history": True, "memory": False}, {"history": True, "memory": False}),
    "model": ("u:u", "p:p"),
    "maxCostUsd": (3.0, 0.5),
    "budgets": ({"turn": {"tokens": 9}}, {"turn": {"tokens": 5}}),
    "permissions": ({"deny": ["edit:user/*"]}, {"allow": ["edit:project/*"]}),
    "review": ({"mode": "proposal"}, {"mode": "worktree"}),
    "sandbox": ({"level": "workspace"}, {"level": "none"}),
}
"""The values of a setting in the user's file and in that of the workspace."""
FLAGS: dict[str, tuple[str, Effective, object]] = {
    "agent": ("--agent porter", agent, "porter"),
    "components": (
        "--no-component history --component memory",
        components,
        {"history": False, "memory": True},
    ),
    "model": ("--model f:f", model, "f:f"),
    "maxCostUsd": ("--max-cost 7", of_description("maxCostUsd"), 7.0),
    "budgets": ("--budget-tokens 6k", of_description("budgets"), {"turn": {"tokens": 6000}}),
    "permissions": ("--allow edit:flag/* --deny edit:flag/x", permissions, {"allow": True, "deny": True}),
    "review": ("--mode branch", mode, "branch"),
    "sandbox": ("--sandbox strict", of_description("sandbox"), {"level": "strict"}),
}
"""The flags for a setting, how its value is found, and that value."""
ENVIRONMENT = {
    "PORTICO_AGENT": "e",
    "PORTICO_MODEL": "e:e",
    "PORTICO_BUDGET_TURN": "4,$2",
    "PORTICO_SANDBOX": "none",
}
WITHOUT_A_FLAG = {
    "agents", "proxies", "models", "promptDirectories", "sessionVariables", "mcpServers", "languageServers",
    "trustedWorkspaces", "trustedPackages",
}  # fmt: skip
"""Settings that define things. Flags such as --agent and --proxy choose among what they define."""


def test_no_setting_is_missing_from_this_table() -> None:
    assert set(FLAGS) | WITHOUT_A_FLAG == set(SETTINGS)
    assert set(FLAGS) == set(FILES)


@pytest.mark.parametrize(("name", "source"), list(product(FLAGS, SOURCES)))
def test_a_flag_comes_before_the_environment_and_both_files(tmp_path: Path, name: str, source: str) -> None:
    words, effective, expected = FLAGS[name]
    parser = CommandParser("exec", "")
    add_session_flags(parser)
    parser.add_argument("--trace")
    flags = parser.parse(words.split())
    folders = Folders(tmp_path, name, source)
    for environ in ({}, ENVIRONMENT):
        value = effective(flags, folders, {"PORTICO_HOME": str(folders.home), **environ})
        assert _has(value, expected), (value, environ)


def _has(value: Any, expected: object) -> bool:
    if not isinstance(expected, dict):
        return bool(value == expected)
    return all(_has(value[key], part) for key, part in expected.items())
