"""`portico components`: what the chain adds for every agent in this folder."""

import argparse
import asyncio
import os
from collections.abc import Sequence

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
from portico.doors.terminal.render.component_list import component_lines
from portico.editors.local import LocalEditorProvider

_EXAMPLES = """examples:
  portico components list
  portico components list --component history --api

"""


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("components", "What Portico adds between you and every agent.", examples=_EXAMPLES)
    listed = group.add("list", "list the components of a folder, their state and the reason", _list)
    listed.add_argument("--cwd", metavar="DIR", default=".", help="folder to look at (default: this one)")
    add_component_flags(listed)
    return group.run(arguments)


def _list(flags: argparse.Namespace) -> int:
    return asyncio.run(_print_list(flags))


async def _print_list(flags: argparse.Namespace) -> int:
    workspace = require_folder(flags.cwd)
    registry = open_components(os.environ, lambda: LocalEditorProvider(os.environ))
    try:
        options = ChainOptions(components=component_switches(flags))
        found = await ChainComponents(ChainParts(os.environ, registry, options)).statuses(workspace)
    finally:
        await registry.close()
    if flags.api:
        print_json(workspace=str(workspace), components=found)
    else:
        print("\n".join(component_lines(found)))
    return 0
