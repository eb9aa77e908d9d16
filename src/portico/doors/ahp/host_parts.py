"""Parts of the server that an agent host is made of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from portico.domain.catalog import AgentEntry
from portico.domain.reviews import ReviewMode
from portico.sessions.cleanup import SessionCleanup
from portico.sessions.drafts import Drafts
from portico.sessions.ports import AgentSpec, Clock, Store
from portico.sessions.review_actions import ReviewActions
from portico.sessions.service import SessionService
from portico.sessions.turn_queue import TurnQueue


class AgentCatalog(Protocol):
    """The agents that sessions can be started with, and how."""

    @property
    def workspace(self) -> Path: ...

    async def agent(self, name: str, workspace: Path) -> AgentSpec: ...

    async def agents(self, workspace: Path) -> Sequence[AgentEntry]: ...

    async def mode(self, workspace: Path) -> ReviewMode: ...


class HostParts(msgspec.Struct, frozen=True, kw_only=True):
    service: SessionService
    store: Store
    clock: Clock
    turn_queue: TurnQueue
    drafts: Drafts
    cleanup: SessionCleanup
    reviews: ReviewActions
    catalog: AgentCatalog
    version: str
