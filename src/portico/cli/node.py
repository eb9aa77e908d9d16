"""`portico node`: list the servers of a team, and drain one before it is stopped."""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from portico.app.event_log import chosen_log
from portico.cli.arguments import CommandGroup, print_json
from portico.domain.errors import AgentTimedOut, InvalidInput
from portico.domain.nodes import NodeRecord
from portico.domain.provider_keys import STORE_VARIABLE

if TYPE_CHECKING:
    from portico.store.postgres.nodes import DatabaseNodes

_LOOK_SECONDS = 0.5
_WAIT_SECONDS = 3600.0


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup(
        "node",
        "The servers of a team that share a log in PostgreSQL. Start one with: portico serve --node NAME",
    )
    group.add("list", "list the nodes, their labels and their load", _list)
    drain = group.add("drain", "give a node no new sessions, and wait until its turns have ended", _drain)
    drain.add_argument("name", metavar="NAME", help="node")
    drain.add_argument(
        "--wait",
        type=float,
        default=_WAIT_SECONDS,
        metavar="SECONDS",
        help=f"longest time to wait (default: {_WAIT_SECONDS:.0f})",
    )
    resume = group.add("resume", "let a drained node take sessions again", _resume)
    resume.add_argument("name", metavar="NAME", help="node")
    return group.run(arguments)


def _list(flags: argparse.Namespace) -> int:
    nodes = asyncio.run(_all())
    if flags.api:
        print_json(nodes=[_described(node) for node in nodes])
    elif not nodes:
        print("No node has joined yet. Start one with: portico serve --node NAME")
    for node in nodes if not flags.api else ():
        about = node.about
        labels = f"  {', '.join(about.labels)}" if about.labels else ""
        print(f"{node.name}  {_state(node)}  {node.sessions} of {about.capacity} sessions{labels}")
        for folder in about.folders:
            print(f"  shares {folder}")
    return 0


def _drain(flags: argparse.Namespace) -> int:
    asyncio.run(_drain_node(flags.name, flags.wait, quiet=flags.api))
    if flags.api:
        print_json(node=flags.name, drained=True)
    else:
        print(f"Node {flags.name} has no open session. It can be stopped.")
    return 0


def _resume(flags: argparse.Namespace) -> int:
    asyncio.run(_resume_node(flags.name))
    if flags.api:
        print_json(node=flags.name, drained=False)
    else:
        print(f"Node {flags.name} takes sessions again.")
    return 0


async def _all() -> list[NodeRecord]:
    async with _open_nodes() as nodes:
        return await nodes.all()


async def _resume_node(name: str) -> None:
    async with _open_nodes() as nodes:
        await nodes.set_draining(name, draining=False)


async def _drain_node(name: str, seconds: float, *, quiet: bool) -> None:
    async with _open_nodes() as nodes:
        await nodes.set_draining(name, draining=True)
        told = -1
        try:
            async with asyncio.timeout(seconds):
                while (left := await _open_sessions(nodes, name)) is not None:
                    if left != told and not quiet:
                        print(f"Waiting for {left} open session{'s' if left != 1 else ''}…", file=sys.stderr)
                    told = left
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise AgentTimedOut(
                f"Node {name} still has {told} open session{'s' if told != 1 else ''}. It keeps draining.",
                suggestion=f"Wait longer with --wait, or stop their turns. Undo with: portico node resume {name}",
            ) from None


async def _open_sessions(nodes: "DatabaseNodes", name: str) -> int | None:
    """Number of open sessions of a draining node; None if it is drained, or not running."""
    node = next(node for node in await nodes.all() if node.name == name)
    return None if node.drained or not node.alive else node.sessions


@asynccontextmanager
async def _open_nodes() -> "AsyncIterator[DatabaseNodes]":
    store = chosen_log(os.environ)
    if not hasattr(store, "open_nodes"):
        raise InvalidInput(
            "Nodes share a log in PostgreSQL, and this log is in a file.",
            suggestion=f"Set {STORE_VARIABLE} to postgresql://USER@HOST/DATABASE.",
        )
    await store.open()
    try:
        yield await store.open_nodes()
    finally:
        await store.close()


def _state(node: NodeRecord) -> str:
    if not node.alive:
        return "not running"
    return "draining" if node.draining else "running"


def _described(node: NodeRecord) -> dict[str, object]:
    return {
        "name": node.name,
        "state": _state(node),
        "sessions": node.sessions,
        "capacity": node.about.capacity,
        "labels": list(node.about.labels),
        "folders": list(node.about.folders),
        "address": node.about.address,
        "version": node.about.version,
    }
