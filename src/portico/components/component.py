"""The interface of a component, and what it may decide by."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from portico.acp import _schema as acp
from portico.conductor.proxy import Proxy


class AdapterContext(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace and its editor, with the component's options from the settings."""

    workspace: Path
    environ: Mapping[str, str]
    editor: acp.ClientCapabilities
    options: Mapping[str, Any] = {}


class ComponentContext(AdapterContext, frozen=True, kw_only=True):
    """A workspace, its editor and its agent. The editor has what adapters supply, too."""

    agent: acp.AgentCapabilities


class ComponentUnavailable(Exception):
    """The component cannot work here. The message says why, and what to do about it."""


class Component(ABC):
    """Adds proxies to a chain: tools for the agent, or whatever else the agent or the editor lacks."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        """The proxies for one chain. Raises ComponentUnavailable if there is nothing to work with.

        Runs in a thread, with a deadline, when the agent has answered `initialize` and a session is to be opened.
        """

    def adapt(self, context: AdapterContext) -> Sequence[Proxy]:
        """Adapters for what the editor lacks. Asked before `initialize` reaches the agent, if it lacks anything.

        They stand on the client's side of the permissions, and announce to the agent what they supply.
        """
        return ()

    async def close(self) -> None:  # noqa: B027 - most components keep nothing running
        """End what chains of this component share, when the process ends. A component is made once for all chains."""
