"""The context of a tool call: the turn, the scenario, and what the session keeps for tools."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from portico.porter.background_commands import BackgroundCommands
from portico.porter.output_store import OutputStore
from portico.porter.scenarios.scenario import Scenario, ScenarioMode
from portico.porter.turn import PorterTurn
from portico.porter.workspace import Workspace

Delegate = Callable[[str, str, str], Awaitable[str]]
"""Does a task in a scenario, shown under a title, and reports."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """`scratch` says that the session's folder is a copy: what is written there is reviewed later.

    `delegate` is missing inside of a task that was delegated.
    """

    turn: PorterTurn
    scenario: Scenario
    output_store: OutputStore
    background: BackgroundCommands
    environ: Mapping[str, str]
    scratch: bool = False
    images: bool = False
    delegate: Delegate | None = None

    @property
    def workspace(self) -> Workspace:
        return self.turn.workspace

    @property
    def may_write(self) -> bool:
        return self.scenario.mode is ScenarioMode.WRITE

    def place(self, name: str) -> Path:
        """The path that the model means, inside of the session's folders. PermissionDenied elsewhere."""
        path = self.workspace.locate(name)
        self.workspace.inside(path)
        return path
