"""Flags of `portico serve` that make the server a node of a team."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from portico.domain.errors import InvalidInput
from portico.domain.provider_keys import STORE_VARIABLE

if TYPE_CHECKING:
    from portico.server.node import NodeOptions

_CAPACITY = 20
_LONGEST_NAME = 100


def add_node_flags(parser: argparse.ArgumentParser) -> None:
    team = parser.add_argument_group("a node of a team")
    team.add_argument(
        "--store", metavar="URL", help=f"database with the log, postgresql://… (default: {STORE_VARIABLE})"
    )
    team.add_argument("--node", metavar="NAME", help="name of this server among the nodes of the team")
    team.add_argument("--label", action="append", default=[], metavar="LABEL", help="label of the node")
    team.add_argument(
        "--share",
        action="append",
        default=[],
        metavar="DIR",
        help="folder that other nodes have under the same path; its sessions can move between them",
    )
    team.add_argument(
        "--capacity",
        type=int,
        default=_CAPACITY,
        metavar="N",
        help=f"sessions that the node should have open at most (default: {_CAPACITY})",
    )


def environ_with_node(flags: argparse.Namespace, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with what the flags say about the log and the node."""
    from portico.app.event_log import NODE_VARIABLE

    changed = {name: value for name, value in environ.items() if name != NODE_VARIABLE}
    if flags.store is not None:
        changed[STORE_VARIABLE] = flags.store
    if flags.node is not None:
        changed[NODE_VARIABLE] = flags.node
    return changed


def node_words(flags: argparse.Namespace) -> list[str]:
    """The same flags for a server in the background; it gets the address of the log by its environment."""
    if flags.node is None:
        return []
    words = ["--node", flags.node, "--capacity", str(flags.capacity)]
    for flag in ("label", "share"):
        words += [word for value in getattr(flags, flag) for word in (f"--{flag}", value)]
    return words


def node_options(flags: argparse.Namespace) -> "NodeOptions | None":
    if flags.node is None:
        if flags.label or flags.share:
            raise InvalidInput("--label and --share need --node.", suggestion="Add --node NAME.")
        return None
    from portico.server.node import NodeOptions

    if not flags.node.isprintable() or not flags.node.strip() or len(flags.node) > _LONGEST_NAME:
        raise InvalidInput(
            "The name of a node must be one line of text.", suggestion="Such as --node build-1."
        )
    if flags.capacity < 1:
        raise InvalidInput("--capacity must be at least 1.")
    return NodeOptions(
        name=flags.node,
        labels=tuple(flags.label),
        folders=tuple(str(Path(folder).resolve()) for folder in flags.share),
        capacity=flags.capacity,
    )
