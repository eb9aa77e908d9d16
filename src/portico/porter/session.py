"""One open Porter session: its folders, history, lists, permission grants and running turn."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from portico.acp import _schema as schema
from portico.acp.extensions import PlanMeta, to_meta
from portico.porter.background_commands import BackgroundCommands
from portico.porter.files import SessionFiles
from portico.porter.history import MessageHistory
from portico.porter.scenarios.scenario import DEFAULT, Scenario, ScenarioCatalog
from portico.porter.terminals import CommandRunner
from portico.porter.transcript import (
    AnyEntry,
    ChecklistItem,
    ListsEntry,
    ScenarioEntry,
    SpendingEntry,
    TitleEntry,
    TranscriptFile,
    UpdateEntry,
)
from portico.porter.workspace import Workspace
from portico.processes.tasks import silence_failure


class SessionParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters with which the client opened a session.

    In a `working_copy` changes are reviewed before they reach the user's files. `home` is the folder whose settings
    apply; it differs from the session's folder if that is a working copy. `has_broker` if Portico's permission broker
    stands between Porter and the client, `keeps_proposals` if a proxy there keeps proposed changes. A session that
    `reads_only` changes and runs nothing, whatever its scenario.
    """

    home: Path
    working_copy: bool = False
    can_ask: bool = False
    has_broker: bool = False
    keeps_proposals: bool = False
    reads_only: bool = False
    mcp_servers: tuple[schema.McpServer, ...] = ()


class PorterSession:
    def __init__(
        self,
        session_id: str,
        workspace: Workspace,
        transcript: TranscriptFile,
        files: SessionFiles,
        terminals: CommandRunner,
        parameters: SessionParameters,
    ) -> None:
        self.id = session_id
        self.workspace = workspace
        self.transcript = transcript
        self.files = files
        self.terminals = terminals
        self.parameters = parameters
        self.background = BackgroundCommands(terminals)
        self.history = MessageHistory(transcript.append)
        self.scenarios = ScenarioCatalog({})
        self.scenario_name = DEFAULT
        # The model the user chose. Not stored: a client that reopens the session sets it again.
        self.model: str | None = None
        self.spent_tokens = 0
        self.spent_dollars: float | None = None
        self.title: str | None = None
        self.plan: tuple[ChecklistItem, ...] = ()
        self.todos: tuple[ChecklistItem, ...] = ()
        self._todos_changed = False
        self.noticed: set[str] = set()
        # Permission grants for the whole session. Not stored: after a restart Porter asks again.
        self.granted: set[tuple[str, str]] = set()
        self._running: asyncio.Task[schema.StopReason] | None = None
        self._calls = 0

    @property
    def is_busy(self) -> bool:
        return self._running is not None

    def restore(self, entries: list[AnyEntry]) -> None:
        """Restore the state from a transcript."""
        self.history.restore(entries)
        for entry in entries:
            match entry:
                case TitleEntry(title=title):
                    self.title = title
                case ListsEntry(plan=plan, todos=todos):
                    self.plan, self.todos = plan, todos
                case ScenarioEntry(scenario=name):
                    self.scenario_name = name
                case SpendingEntry(tokens=tokens, dollars=dollars):
                    self._add(tokens, dollars)
                case UpdateEntry(update=schema.Notice(title=title)):
                    self.noticed.add(title)
                case _:
                    self._calls += 1

    @property
    def can_ask(self) -> bool:
        """Whether the client can show a question of the model to the user."""
        return self.parameters.can_ask

    @property
    def scenario(self) -> Scenario:
        """The chosen scenario, or the default if its file is gone."""
        return self.scenarios.get(self.scenario_name) or self.scenarios.default

    def choose(self, scenario: str) -> None:
        self.scenario_name = scenario
        self.transcript.append(ScenarioEntry(scenario=scenario))

    def add_spending(self, tokens: int, dollars: float | None) -> None:
        """Record the tokens and cost of a model request."""
        self.transcript.append(SpendingEntry(tokens=tokens, dollars=dollars))
        self._add(tokens, dollars)

    def _add(self, tokens: int, dollars: float | None) -> None:
        self.spent_tokens += tokens
        if dollars is not None:
            self.spent_dollars = (self.spent_dollars or 0.0) + dollars

    def set_title(self, title: str) -> schema.SessionInfoUpdate:
        """Set the title of the session."""
        self.title = title
        self.transcript.append(TitleEntry(title=title))
        return schema.SessionInfoUpdate(title=title)

    def next_call_id(self) -> str:
        """Return an id that is unique in this session, across restarts too."""
        self._calls += 1
        return f"call-{self._calls}"

    def set_lists(
        self, *, plan: tuple[ChecklistItem, ...] | None = None, todos: tuple[ChecklistItem, ...] | None = None
    ) -> None:
        self.plan = self.plan if plan is None else plan
        self.todos = self.todos if todos is None else todos
        self.transcript.append(ListsEntry(plan=self.plan, todos=self.todos))

    def replace_todos(self, todos: tuple[ChecklistItem, ...]) -> None:
        """Set the to-do list that the user wrote."""
        if todos != self.todos:
            self.set_lists(todos=todos)
            self._todos_changed = True

    def consume_todo_change(self) -> bool:
        """Return whether the user changed the to-do list since the last call."""
        news, self._todos_changed = self._todos_changed, False
        return news

    def as_plan(self) -> schema.Plan:
        """Return plan and to-do list as one ACP plan, in this order."""
        current = next((item for item in self.plan if not item.done), None)
        return schema.Plan(
            meta=to_meta(PlanMeta(todos=len(self.todos))),
            entries=[
                schema.PlanEntry(
                    content=item.text,
                    priority="medium",
                    status="completed"
                    if item.done
                    else "in_progress"
                    if item is current or item.active
                    else "pending",
                )
                for item in (*self.plan, *self.todos)
            ],
        )

    async def take_turn(self, work: Coroutine[Any, Any, schema.StopReason]) -> schema.StopReason:
        """Run a turn and return its stop reason. Cancelling this call cancels the turn and waits for its end."""
        task = self._running = silence_failure(asyncio.create_task(work, name=f"turn in {self.id}"))
        try:
            await asyncio.wait({task})
        finally:
            await self.stop()
            self._running = None
            failure = None if task.cancelled() else task.exception()
        if failure is not None:
            raise failure
        return "cancelled" if task.cancelled() else task.result()

    def cancel(self) -> None:
        """Cancel the running turn, if any."""
        if self._running is not None and not self._running.cancelling():
            self._running.cancel()

    async def stop(self) -> None:
        """Cancel the running turn and wait for its end."""
        if (task := self._running) is not None and not task.done():
            self.cancel()
            await asyncio.wait({task})
