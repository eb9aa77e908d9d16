"""The context of a tool call: turn, scenario, stored outputs and background commands."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from portico.porter.background_commands import BackgroundCommands
from portico.porter.output_store import OutputStore
from portico.porter.profiles.profile import ModelProfile
from portico.porter.scenarios.scenario import Scenario, ScenarioMode
from portico.porter.turn import PorterTurn
from portico.porter.workspace import Workspace

Delegate = Callable[[str, str, str], Awaitable[str]]
"""Runs a task (title, instructions, scenario) and returns its report."""
Outline = Callable[[str], Awaitable[str]]
"""Lists the definitions in a file; empty if that is not known."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of tool calls. In a `working_copy` writes need no permission: they are reviewed before they apply.

    A delegated task has no `delegate`. Without the code component there is no `outline`.
    """

    turn: PorterTurn
    scenario: Scenario
    output_store: OutputStore
    background: BackgroundCommands
    environ: Mapping[str, str]
    profile: ModelProfile
    working_copy: bool = False
    images: bool = False
    delegate: Delegate | None = None
    outline: Outline | None = None

    @property
    def workspace(self) -> Workspace:
        return self.turn.workspace

    @property
    def may_write(self) -> bool:
        return self.scenario.mode is ScenarioMode.WRITE and not self.turn.session.parameters.reads_only

    def resolve(self, name: str) -> Path:
        """Resolve a path. Raises PermissionDenied outside the session's folders."""
        path = self.workspace.locate(name)
        self.workspace.inside(path)
        return path
