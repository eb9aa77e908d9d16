"""`portico components`: what the chain adds for every agent in this folder."""

import argparse
import asyncio
import os
from collections.abc import Sequence

from portico.chains.built_in_components import open_components
from portico.chains.component_status import ComponentStatus, component_statuses
from portico.cli.arguments import (
    CommandGroup,
    add_component_flags,
    component_switches,
    print_json,
    require_folder,
)
from portico.doors.terminal.sanitizer import clean_line
from portico.editors.local import LocalEditorProvider

_EXAMPLES = """examples:
  portico components list
  portico components list --component history --api

"""
_MARKS = {"on": "●", "idle": "◌", "off": "○", "failed": "✗"}


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
        found = await asyncio.to_thread(
            component_statuses, registry, workspace, os.environ, component_switches(flags)
        )
    finally:
        await registry.close()
    if flags.api:
        print_json(workspace=str(workspace), components=found)
    else:
        width = max(len(one.name) for one in found)
        for one in found:
            print(_line(one, width))
    return 0


def _line(one: ComponentStatus, width: int) -> str:
    words = " ".join(filter(None, (clean_line(one.summary), f"({clean_line(one.reason)})")))
    return f"{_MARKS[one.state]} {clean_line(one.name):<{width}}  {one.state:<6}  {words}"
