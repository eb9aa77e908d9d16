"""A server as a node of a team: its heartbeat, the sessions of dead nodes, and draining.

A node that drains takes no new sessions and closes those that have no turn, so that other nodes can open them.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico import __version__
from portico.api.health import keyed_hash
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.ids import SessionId
from portico.domain.nodes import NodeDescription, NodeRecord
from portico.domain.provider_keys import STORE_VARIABLE
from portico.processes.tasks import cancel_and_wait
from portico.sessions.ports import Store
from portico.sessions.service import SessionService
from portico.sessions.turn_queue import TurnQueue

if TYPE_CHECKING:
    from portico.store.postgres.nodes import DatabaseNodes

log = logging.getLogger("portico.node")

_BEATS = 6
"""Heartbeats in the time after which a silent node counts as dead."""


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a node. `folders` are shared with other nodes under the same path."""

    name: str
    labels: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    capacity: int = 20
    address: str = ""
    """Address for other nodes; empty: its address on this machine."""


class Node:
    def __init__(self, nodes: "DatabaseNodes", options: NodeOptions, secret: str, state: Path) -> None:
        self.options = options
        self.nodes = nodes
        self._secret = secret
        self._state = state
        self._draining = False

    @property
    def name(self) -> str:
        return self.options.name

    def token_for(self, name: str) -> str:
        """The token by which nodes call the node of this name."""
        return keyed_hash(self._secret, "node", name)

    async def join(self, url: str) -> None:
        about = NodeDescription(
            name=self.name,
            address=self.options.address or url,
            version=__version__,
            labels=self.options.labels,
            folders=self.options.folders,
            capacity=self.options.capacity,
        )
        await self.nodes.join(about, f"{socket.gethostname()}:{self._state}")

    async def run(self, service: SessionService, turn_queue: TurnQueue, store: Store) -> None:
        """Beat until cancelled."""
        while True:
            try:
                await self._beat(service, turn_queue, store)
            except PorticoError as error:
                log.warning("the heartbeat of node %s failed: %s", self.name, error.message)
            except Exception:
                # Top level of a task: without heartbeats the node would count as dead.
                log.exception("the heartbeat of node %s failed", self.name)
            await asyncio.sleep(self.nodes.seconds / _BEATS)

    async def _beat(self, service: SessionService, turn_queue: TurnQueue, store: Store) -> None:
        opened = len(service.open_sessions())
        draining = await self.nodes.beat(self.name, opened, drained=self._draining and not opened)
        self._draining = bool(draining)
        for session_id in await service.close_lost():
            log.warning("session %s was taken over by another process", session_id)
        if draining is None:
            log.error("another process is node %s now", self.name)
        elif draining:
            for session_id in service.open_sessions():
                await turn_queue.release(session_id)
        orphans = await self.nodes.orphans()
        if orphans:
            await self._adopt(service, orphans, store)

    async def _adopt(self, service: SessionService, orphans: Sequence[SessionId], store: Store) -> None:
        """Interrupt the turns of sessions whose node is gone, unless another node is better suited."""
        nodes = {node.name: node for node in await self.nodes.all()}
        for session_id in orphans:
            home = nodes.get((await self.nodes.owner_of(session_id)).node)
            if home is not None and home.alive and home.name != self.name:
                continue
            summary = await store.summary(session_id)
            if summary is None:
                continue
            suited = [
                node.name for node in nodes.values() if node.takes_sessions and node.shares(summary.workspace)
            ]
            mine = home is not None and home.name == self.name
            if (mine or not suited or self.name in suited) and await service.interrupt_lost(session_id):
                log.info("the turn of session %s was interrupted: its process is gone", session_id)


def choose_node(
    nodes: Sequence[NodeRecord], here: str, *, folder: str, labels: Sequence[str], has_folder: bool
) -> str:
    """The name of the node for a new session: by labels, folder and load; this one if none is better.

    InvalidInput if no node will do. `has_folder` says whether this node has the folder.
    """

    def fits(node: NodeRecord) -> bool:
        has = has_folder if node.name == here else (not folder or node.shares(folder))
        return node.takes_sessions and has and set(labels) <= set(node.about.labels)

    fitting = [node for node in nodes if fits(node)]
    if not fitting:
        wanted = f" with the labels {', '.join(labels)}" if labels else ""
        where = f" that has the folder {folder}" if folder else ""
        raise InvalidInput(
            f"There is no running node{wanted}{where}.",
            suggestion="See the nodes with: portico node list",
        )
    if not labels and has_folder and any(node.name == here and node.load < 1 for node in fitting):
        shared = any(node.name == here and node.shares(folder) for node in fitting)
        if not shared:
            return here
    return min(fitting, key=lambda node: (node.load >= 1, node.load, node.name != here, node.name)).name


@asynccontextmanager
async def open_node(store: Store, options: NodeOptions, state: Path, url: str) -> AsyncIterator[Node]:
    """Join the nodes of the database that the log is in. InvalidInput if it is in no database."""
    # Late: a server that is no node need not have the parts of a team installed.
    try:
        from portico.store.postgres.store import PostgresStore
    except ImportError as error:
        raise InvalidInput(
            "A node needs the package psycopg.", suggestion="pip install 'portico[team]'"
        ) from error

    if not isinstance(store, PostgresStore):
        raise InvalidInput(
            "A node needs a log in PostgreSQL.",
            suggestion=f"Add --store postgresql://USER@HOST/DATABASE, or set {STORE_VARIABLE}.",
        )
    nodes = await store.open_nodes()
    node = Node(nodes, options, await nodes.secret(), state)
    await node.join(url)
    try:
        yield node
    finally:
        await nodes.leave(node.name)


@asynccontextmanager
async def beating(
    node: Node, service: SessionService, turn_queue: TurnQueue, store: Store
) -> AsyncIterator[None]:
    """Keep a node alive while the context is open."""
    task = asyncio.create_task(node.run(service, turn_queue, store), name=f"heartbeat of {node.name}")
    try:
        yield
    finally:
        await cancel_and_wait(task)
