"""`portico components`: what the chain adds for every agent in this folder."""

import argparse
import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from portico.chains.built_in_components import open_components
from portico.chains.component_status import ChainComponents
from portico.chains.options import ChainOptions, ChainParts
from portico.cli.arguments import (
    CommandGroup,
    add_component_flags,
    component_switches,
    print_json,
    require_folder,
)
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.components import ComponentStatus
from portico.doors.terminal.render.component_list import component_lines
from portico.editors.local import LocalEditorProvider

_EXAMPLES = """examples:
  portico components list
  portico components list --component history --api
  portico components list --agent claude

"""
_CLOSING_GRACE = 1.0


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("components", "Capabilities that Portico adds for every agent.", examples=_EXAMPLES)
    listed = group.add("list", "list the components of a folder, their state and the reason", _list)
    listed.add_argument("--cwd", metavar="DIR", default=".", help="folder to look at (default: this one)")
    listed.add_argument("--agent", metavar="NAME", help="agent to start with its chain, and to look at")
    add_component_flags(listed)
    return group.run(arguments)


def _list(flags: argparse.Namespace) -> int:
    return asyncio.run(_print_list(flags))


async def _print_list(flags: argparse.Namespace) -> int:
    workspace = require_folder(flags.cwd)
    options = ChainOptions(components=component_switches(flags))
    if flags.agent is None:
        found, named = await _without_agent(workspace, options), {}
    else:
        found, named = await _with_agent(workspace, options, flags.agent), {"agent": flags.agent}
    if flags.api:
        print_json(workspace=str(workspace), **named, components=found)
    else:
        print("\n".join(component_lines(found)))
    return 0


async def _without_agent(workspace: Path, options: ChainOptions) -> Sequence[ComponentStatus]:
    registry = open_components(os.environ, lambda: LocalEditorProvider(os.environ))
    try:
        return await ChainComponents(ChainParts(os.environ, registry, options)).statuses(workspace)
    finally:
        await registry.close()


async def _with_agent(workspace: Path, options: ChainOptions, name: str) -> Sequence[ComponentStatus]:
    """The components as they are once the agent and its chain have answered `initialize`."""
    # Late: without an agent, the command starts nothing and needs none of this.
    from portico.agents.registry import AgentRegistry
    from portico.app.host import open_host, python_program
    from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
    from portico.sessions.requests.client_methods import client_capabilities

    settings = load_settings(config_folder(os.environ), workspace)
    registry = AgentRegistry(python=python_program(), environ=os.environ, custom=settings.agents)
    async with open_host(os.environ, options) as host:
        capabilities = client_capabilities(host.ports.editors.open(workspace))
        place = AgentWorkspace(workspace)
        connection = await AgentConnection.open(host.ports, registry.resolve(name), place, (), capabilities)
        try:
            components = ChainComponents(ChainParts(os.environ, host.components, options))
            return await components.statuses(workspace, agent=connection.info.agent_capabilities)
        finally:
            await connection.close(grace=_CLOSING_GRACE)
