"""Options of a chain: what flags add to the settings, and what a process gives to all of its chains."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from portico.chains.component_registry import ComponentRegistry, ComponentSwitches
from portico.conductor.mcp_bridge.bridge import BridgeKind
from portico.conductor.permissions.grants import SessionGrants
from portico.domain.reviews import ReviewMode

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import TraceWriter
    from portico.review.service import ReviewService


class ChainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Additions of one command's flags to the settings."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    components: ComponentSwitches = ComponentSwitches()
    mcp_bridge: BridgeKind = "stdio"
    mode: ReviewMode = "direct"
    """The review mode of sessions that an editor opens; the host reviews its own sessions itself."""
    trace: "TraceWriter | None" = None


NO_CHAIN_OPTIONS = ChainOptions()


class ChainParts:
    """The parts of which all chains of a process are built. Without `reviews`, agents get no tool to propose changes with."""

    def __init__(
        self,
        environ: Mapping[str, str],
        components: ComponentRegistry,
        options: ChainOptions = NO_CHAIN_OPTIONS,
        reviews: "ReviewService | None" = None,
    ) -> None:
        self.environ = environ
        self.components = components
        self.options = options
        self.reviews = reviews
        self.session_grants = SessionGrants()
