"""Composition of a host: session service with the real store, agents, editor, reviews and clock."""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from portico import __version__
from portico.agents.process import LocalAgentLauncher
from portico.agents.sandbox_policy import SandboxPolicy
from portico.app.event_log import chosen_log
from portico.app.program_log import configure_log
from portico.chains.built_in_components import find_code_servers, open_components
from portico.chains.chained_agents import ChainedAgents
from portico.chains.component_registry import ComponentRegistry
from portico.chains.component_status import ChainComponents
from portico.chains.options import NO_CHAIN_OPTIONS, ChainOptions, ChainParts
from portico.chains.reviews import open_reviews
from portico.config.paths import state_folder
from portico.domain.events import AnyPayload, Notice
from portico.domain.ids import SessionId
from portico.editors.local import LocalEditorProvider
from portico.files.private import remove_others_access
from portico.processes.clock import SystemClock
from portico.review.service import ReviewService
from portico.sessions.leases import session_lease_name
from portico.sessions.log.recovery import append_events
from portico.sessions.ports import AgentLauncher, Clock, EditorProvider, Ports, Store
from portico.sessions.service import SessionService
from portico.sessions.windows import RecordWindowEvent

if TYPE_CHECKING:
    from portico.editors.buffers import EditorWindows
    from portico.editors.window_registry import AttachedWindows
    from portico.store.postgres.store import PostgresStore
    from portico.store.sqlite import SqliteStore


_NAMED = 5


class Host:
    """A session service with the ports it stands on. `windows` is there where editors can attach theirs."""

    def __init__(
        self,
        service: SessionService,
        ports: Ports,
        reviews: ReviewService,
        components: ComponentRegistry,
        windows: "AttachedWindows | None" = None,
    ) -> None:
        self.service = service
        self.ports = ports
        self.reviews = reviews
        self.components = components
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
    options: ChainOptions = NO_CHAIN_OPTIONS,
    agents: AgentLauncher | None = None,
    *,
    attachable: bool = False,
    checks_edits: bool = False,
) -> AsyncIterator[Host]:
    """A host that has recovered what died, and that ends everything it started.

    `agents` starts them; without it they are programs of this machine. Editor windows can be lent to a host that
    is `attachable`. With `checks_edits` language servers check what tool calls change.
    """
    configure_log()
    remove_others_access(state_folder(environ))
    store = chosen_log(environ)
    clock = SystemClock()
    await store.open()
    if store.losses or store.damage:
        _show(_incomplete([*filter(None, [store.damage]), *map(str, store.losses)]))
    try:

        def tell(session_id: SessionId, payload: AnyPayload) -> None:
            service.pending_events.add(session_id, payload)

        sandboxes = SandboxPolicy(environ)
        launcher = agents or LocalAgentLauncher(environ, sandboxes)
        local = LocalEditorProvider(environ, sandboxes.command_wrapper)
        windows = _windows(local, clock, tell) if attachable else None
        attached = None if windows is None else windows.windows
        reviews = open_reviews(environ, clock, attached)
        for notice in await reviews.recover_all():
            _show(notice)
        editors: EditorProvider = local if windows is None else windows.editors
        components = open_components(environ, lambda: local, windows)
        parts = ChainParts(environ, components, options, reviews)
        ports = Ports(
            store=store,
            agents=ChainedAgents(parts, launcher),
            components=ChainComponents(parts),
            code_servers=partial(find_code_servers, parts),
            checks_edits=checks_edits,
            editors=editors,
            reviews=reviews,
            clock=clock,
            confined=lambda spec, placed: sandboxes.keeps_out(
                spec,
                Path(placed.workspace),
                implied=placed.reads_only is True or placed.mode in ("proposal", "worktree"),
            ),
            problems=None if attached is None else attached.problems,
            version=__version__,
        )
        service = SessionService(ports)
        await service.recover(skip_failures=True)
        await _log_losses(store, clock)
        try:
            yield Host(service, ports, reviews, components, attached)
        finally:
            await service.close()
            await components.close()
    finally:
        await store.close()


def _incomplete(problems: Sequence[str]) -> Notice:
    more = len(problems) - _NAMED
    lines = [*problems[:_NAMED], *([f"and {more} more"] if more > 0 else [])]
    return Notice(
        level="warning",
        text="The log of your sessions is incomplete; Portico continues with what is there. "
        "See what is missing with: portico sessions verify",
        details="\n".join(lines),
    )


async def _log_losses(store: "SqliteStore | PostgresStore", clock: Clock) -> None:
    """Add a notice to each session with losses, unless another process has it open."""
    for loss in store.losses:
        lease = None
        if loss.what != "all":
            lease = await store.lease(session_lease_name(SessionId(loss.session_id)), "recovery")
        if lease is not None:
            try:
                notice = Notice(level="warning", text=f"The log of this session is incomplete: {loss.words}.")
                await append_events(store, clock, SessionId(loss.session_id), [notice])
            finally:
                lease.release()


def _windows(local: LocalEditorProvider, clock: Clock, tell: RecordWindowEvent) -> "EditorWindows":
    # Late: a command that nothing can be attached to need not know of it.
    from portico.editors.buffers import EditorWindows

    return EditorWindows(local, clock, tell)


def python_program() -> str:
    """The interpreter that runs this, for agents that are part of Portico."""
    return sys.executable


def _show(notice: Notice) -> None:
    # Late: there is rarely anything to report, and the terminal's modules cost start-up time.
    from portico.doors.terminal.notice import print_notice

    print_notice(notice)
