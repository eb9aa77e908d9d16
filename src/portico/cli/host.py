"""Builds a host for a command: the real store, agents, editor and clock behind the session service."""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from portico import __version__
from portico.agents.processes import LocalAgents
from portico.agents.sandboxes import Sandboxes
from portico.cli.chains import NO_WISHES, Wishes
from portico.cli.clock import SystemClock
from portico.cli.conducting import ConductedAgents
from portico.cli.failures import configure_log, show_notice
from portico.cli.keeping_reviews import open_reviews
from portico.cli.mcp_servers import configured_servers
from portico.config.paths import state_folder
from portico.domain.events import AnyPayload, Notice
from portico.domain.ids import SessionId
from portico.editors.local import LocalEditors
from portico.files.private import take_from_others
from portico.review.reviews import Reviews
from portico.sessions.ports import Agents, Clock, Editors, Ports, Store
from portico.sessions.recovery import append, session_lease
from portico.sessions.service import SessionService
from portico.sessions.windows import Tell
from portico.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from portico.cli.editor_windows import EditorWindows
    from portico.editors.attached import AttachedWindows


_NAMED = 5


class Host:
    """A session service with the ports it stands on. `windows` is there where editors can attach theirs."""

    def __init__(
        self,
        service: SessionService,
        ports: Ports,
        reviews: Reviews,
        windows: "AttachedWindows | None" = None,
    ) -> None:
        self.service = service
        self.ports = ports
        self.reviews = reviews
        self.windows = windows

    @property
    def store(self) -> Store:
        return self.ports.store

    @property
    def clock(self) -> Clock:
        return self.ports.clock


@asynccontextmanager
async def open_host(
    environ: Mapping[str, str],
    wishes: Wishes = NO_WISHES,
    agents: Agents | None = None,
    *,
    attachable: bool = False,
) -> AsyncIterator[Host]:
    """A host that has recovered what died, and that ends everything it started.

    `agents` starts them; without it they are programs of this machine. Editor windows can be lent to a host that
    is `attachable`.
    """
    configure_log()
    take_from_others(state_folder(environ))
    store = SqliteStore(state_folder(environ))
    clock = SystemClock()
    await store.open()
    if store.losses or store.damage:
        show_notice(_incomplete([*filter(None, [store.damage]), *map(str, store.losses)]))
    try:

        def tell(session_id: SessionId, payload: AnyPayload) -> None:
            service.notes.tell(session_id, payload)

        sandboxes = Sandboxes(environ)
        local = LocalEditors(environ, sandboxes.command_wrapper)
        windows = _windows(local, clock, tell) if attachable else None
        attached = None if windows is None else windows.windows
        reviews = open_reviews(environ, clock, attached)
        editors: Editors = local if windows is None else windows.editors
        tools = None if windows is None else windows.tools
        ports = Ports(
            store=store,
            agents=ConductedAgents(
                environ, wishes, agents or LocalAgents(environ, sandboxes), reviews, tools
            ),
            editors=editors,
            reviews=reviews,
            clock=clock,
            mcp_servers=lambda workspace: configured_servers(workspace, environ),
            confined=lambda spec, placed: sandboxes.keeps_out(
                spec,
                Path(placed.workspace),
                implied=placed.reads_only is True or placed.mode in ("proposal", "worktree"),
            ),
            version=__version__,
        )
        service = SessionService(ports)
        for notice in await reviews.settle_all():
            show_notice(notice)
        await service.recover(forgiving=True)
        await _log_losses(store, clock)
        try:
            yield Host(service, ports, reviews, attached)
        finally:
            await service.close()
    finally:
        await store.close()


def _incomplete(problems: Sequence[str]) -> Notice:
    more = len(problems) - _NAMED
    lines = [*problems[:_NAMED], *([f"and {more} more"] if more > 0 else [])]
    return Notice(
        level="warning",
        text="The log of your sessions is not whole; Portico goes on with what is there. "
        "To see what is missing, run: portico sessions verify",
        details="\n".join(lines),
    )


async def _log_losses(store: SqliteStore, clock: Clock) -> None:
    """Let those who read a session know what is missing from it. One that is open elsewhere is told of there."""
    for loss in store.losses:
        lease = None
        if loss.what != "all":
            lease = store.lease(session_lease(SessionId(loss.session_id)), "recovery")
        if lease is not None:
            try:
                notice = Notice(level="warning", text=f"The log of this session is not whole: {loss.words}.")
                await append(store, clock, SessionId(loss.session_id), [notice])
            finally:
                lease.release()


def _windows(local: LocalEditors, clock: Clock, tell: Tell) -> "EditorWindows":
    # Late: a command that nothing can be attached to need not know of it.
    from portico.cli.editor_windows import EditorWindows

    return EditorWindows(local, clock, tell)


def python_program() -> str:
    """The interpreter that runs this, for agents that are part of Portico."""
    return sys.executable
