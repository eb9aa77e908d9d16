"""Builds a host for a command: the real store, agents, editor and clock behind the session service."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from portico import __version__
from portico.agents.processes import LocalAgents
from portico.cli.chains import NO_WISHES, Wishes
from portico.cli.clock import SystemClock
from portico.cli.conducting import ConductedAgents
from portico.cli.failures import configure_log
from portico.config.paths import state_folder
from portico.editors.local import LocalEditors
from portico.rpc.connection import Tap
from portico.rpc.tap import FileTap
from portico.sessions.ports import Clock, Ports, Store
from portico.sessions.service import SessionService
from portico.store.sqlite import SqliteStore

TAP_VARIABLE = "PORTICO_TAP"


class Host:
    """A session service with the ports it stands on."""

    def __init__(self, service: SessionService, ports: Ports) -> None:
        self.service = service
        self.ports = ports

    @property
    def store(self) -> Store:
        return self.ports.store

    @property
    def clock(self) -> Clock:
        return self.ports.clock


@asynccontextmanager
async def open_host(environ: Mapping[str, str], wishes: Wishes = NO_WISHES) -> AsyncIterator[Host]:
    """A host that has recovered what died, and that ends everything it started."""
    configure_log()
    store = SqliteStore(state_folder(environ))
    clock = SystemClock()
    await store.open()
    try:
        ports = Ports(
            store=store,
            agents=ConductedAgents(environ, wishes, LocalAgents(environ)),
            editors=LocalEditors(environ),
            clock=clock,
            tap=client_tap(environ),
            version=__version__,
        )
        service = SessionService(ports)
        await service.recover()
        try:
            yield Host(service, ports)
        finally:
            await service.close()
    finally:
        await store.close()


def client_tap(environ: Mapping[str, str]) -> Callable[[str], Tap] | None:
    """A tap for each connection to an agent, if PORTICO_TAP names a folder for it."""
    folder = environ.get(TAP_VARIABLE)
    if not folder:
        return None

    numbers = count(1)

    def tap(agent: str) -> Tap:
        name = "".join(letter if letter.isalnum() else "-" for letter in agent) + f"-{next(numbers)}"
        path = Path(folder) / f"{os.getpid()}-client-{name}.ndjson"
        return FileTap(path, connection=name, role="client", environ=environ)

    return tap


def python_program() -> str:
    """The interpreter that runs this, for agents that are part of Portico."""
    return sys.executable
