"""Builds a host for a command: the real store, agents, editor and clock behind the session service."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from portico import __version__
from portico.agents.processes import LocalAgents
from portico.cli.chains import NO_WISHES, Wishes
from portico.cli.clock import SystemClock
from portico.cli.conducting import ConductedAgents
from portico.cli.failures import configure_log
from portico.cli.keeping_reviews import open_reviews
from portico.cli.mcp_servers import configured_servers
from portico.config.paths import state_folder
from portico.editors.local import LocalEditors
from portico.review.reviews import Reviews
from portico.sessions.ports import Agents, Clock, Ports, Store
from portico.sessions.service import SessionService
from portico.store.sqlite import SqliteStore


class Host:
    """A session service with the ports it stands on."""

    def __init__(self, service: SessionService, ports: Ports, reviews: Reviews) -> None:
        self.service = service
        self.ports = ports
        self.reviews = reviews

    @property
    def store(self) -> Store:
        return self.ports.store

    @property
    def clock(self) -> Clock:
        return self.ports.clock


@asynccontextmanager
async def open_host(
    environ: Mapping[str, str], wishes: Wishes = NO_WISHES, agents: Agents | None = None
) -> AsyncIterator[Host]:
    """A host that has recovered what died, and that ends everything it started.

    `agents` starts them; without it they are programs of this machine.
    """
    configure_log()
    store = SqliteStore(state_folder(environ))
    clock = SystemClock()
    await store.open()
    try:
        reviews = open_reviews(environ, clock)
        ports = Ports(
            store=store,
            agents=ConductedAgents(environ, wishes, agents or LocalAgents(environ), reviews),
            editors=LocalEditors(environ),
            reviews=reviews,
            clock=clock,
            mcp_servers=lambda workspace: configured_servers(workspace, environ),
            version=__version__,
        )
        service = SessionService(ports)
        await service.recover()
        try:
            yield Host(service, ports, reviews)
        finally:
            await service.close()
    finally:
        await store.close()


def python_program() -> str:
    """The interpreter that runs this, for agents that are part of Portico."""
    return sys.executable
