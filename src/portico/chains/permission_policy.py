"""The permission policy of an agent: rules of the settings and flags, and whether it may do everything without asking."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import PurePath

from portico.agents.registry import PORTER, AgentRegistry
from portico.chains.options import ChainOptions
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from portico.config.paths import config_folder
from portico.config.settings import AgentSetting, Settings, read_user_settings
from portico.sessions.ports import AgentSpec

BYPASS_VARIABLE = "PORTICO_BYPASS_PERMISSIONS"


def permission_policy(
    spec: AgentSpec, settings: Settings, options: ChainOptions, environ: Mapping[str, str]
) -> PermissionPolicy:
    """The policy for an agent. An allowance for an agent's name does not hold for another program of that name."""
    allowances = tuple(map(parse_rule, settings.permissions.allow))
    if any(rule.agent for rule in allowances) and _is_namesake(spec, settings.agents, environ):
        allowances = tuple(rule for rule in allowances if rule.agent is None)
    return PermissionPolicy(
        allow=(*allowances, *map(parse_rule, options.allow)),
        deny=tuple(map(parse_rule, (*settings.permissions.deny, *options.deny))),
        bypass=_is_unasked(spec, settings, environ),
    )


def approved_as(spec: AgentSpec) -> str:
    """The name under which approvals of an agent are kept: one that is named after its program is known by its whole command.

    Otherwise all that `python`, `node` or `npx` may start would be one agent.
    """
    named_after_program = bool(spec.command) and spec.name in (
        PurePath(spec.command[0]).stem,
        spec.command[0],
    )
    return shlex.join(spec.command) if named_after_program else spec.name


def is_porter(spec: AgentSpec, environ: Mapping[str, str]) -> bool:
    """Whether an agent is Porter itself, not another program of that name."""
    return spec.name == PORTER and not _is_namesake(spec, {}, environ)


def _is_unasked(spec: AgentSpec, settings: Settings, environ: Mapping[str, str]) -> bool:
    """Whether a person let this very agent do everything: by its settings, by its name, or by its command."""
    setting = settings.agents.get(spec.name)
    if (
        setting is not None
        and setting.bypass_permissions
        and not _is_namesake(spec, settings.agents, environ)
    ):
        return True
    unasked = {entry.strip() for entry in environ.get(BYPASS_VARIABLE, "").split(",")} - {""}
    if spec.name not in unasked:
        return shlex.join(spec.command) in unasked
    # The environment is the person's, and so is what they mean by a name: a workspace cannot give it another.
    own = read_user_settings(config_folder(environ)).agents
    return spec.name in _registry(own, environ).names() and not _is_namesake(spec, own, environ)


def _is_namesake(spec: AgentSpec, agents: Mapping[str, AgentSetting], environ: Mapping[str, str]) -> bool:
    """Whether these settings, or Portico, give its name to another program."""
    registry = _registry(agents, environ)
    if spec.name not in registry.names():
        return False
    meant = registry.resolve(spec.name)
    return meant.command != spec.command or not meant.env.items() <= spec.env.items()


def _registry(agents: Mapping[str, AgentSetting], environ: Mapping[str, str]) -> AgentRegistry:
    return AgentRegistry(python=sys.executable, environ=environ, custom=agents)
