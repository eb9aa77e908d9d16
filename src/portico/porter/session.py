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
    """How the client opened a session.

    In a `scratch` folder what is written is reviewed before it reaches the person's files. `home` is the folder
    whose settings hold; it differs from the session's where that is a scratch folder.
    """

    home: Path
    scratch: bool = False
    can_ask: bool = False
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
        # What the person chose for this session, here and now: whoever opens it again says so again.
        self.model: str | None = None
        self.spent_tokens = 0
        self.spent_dollars: float | None = None
        self.title: str | None = None
        self.plan: tuple[ChecklistItem, ...] = ()
        self.todos: tuple[ChecklistItem, ...] = ()
        self._todos_changed = False
        self.noticed: set[str] = set()
        # What the person allowed for the whole session. Not kept on disk: after a restart Porter asks again.
        self.granted: set[tuple[str, str]] = set()
        self._running: asyncio.Task[schema.StopReason] | None = None
        self._calls = 0

    @property
    def is_busy(self) -> bool:
        return self._running is not None

    def recall(self, entries: list[AnyEntry]) -> None:
        """Take up what an earlier process left."""
        self.history.recall(entries)
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
        """Whether the client can put a question of the model to the person."""
        return self.parameters.can_ask

    @property
    def scenario(self) -> Scenario:
        """The one that was chosen; the default if its file is gone."""
        return self.scenarios.get(self.scenario_name) or self.scenarios.default

    def choose(self, scenario: str) -> None:
        self.scenario_name = scenario
        self.transcript.append(ScenarioEntry(scenario=scenario))

    def add_spending(self, tokens: int, dollars: float | None) -> None:
        """Count what a request to a model took."""
        self.transcript.append(SpendingEntry(tokens=tokens, dollars=dollars))
        self._add(tokens, dollars)

    def _add(self, tokens: int, dollars: float | None) -> None:
        self.spent_tokens += tokens
        if dollars is not None:
            self.spent_dollars = (self.spent_dollars or 0.0) + dollars

    def set_title(self, title: str) -> schema.SessionInfoUpdate:
        """Name the conversation, once."""
        self.title = title
        self.transcript.append(TitleEntry(title=title))
        return schema.SessionInfoUpdate(title=title)

    def next_call_id(self) -> str:
        """An id that no earlier call of this session has, over restarts too."""
        self._calls += 1
        return f"call-{self._calls}"

    def set_lists(
        self, *, plan: tuple[ChecklistItem, ...] | None = None, todos: tuple[ChecklistItem, ...] | None = None
    ) -> None:
        self.plan = self.plan if plan is None else plan
        self.todos = self.todos if todos is None else todos
        self.transcript.append(ListsEntry(plan=self.plan, todos=self.todos))

    def replace_todos(self, todos: tuple[ChecklistItem, ...]) -> None:
        """The person has written the list."""
        if todos != self.todos:
            self.set_lists(todos=todos)
            self._todos_changed = True

    def consume_todo_change(self) -> bool:
        """Whether the person has changed the list since this was asked last."""
        news, self._todos_changed = self._todos_changed, False
        return news

    def as_plan(self) -> schema.Plan:
        """Both lists as the one plan that the protocol knows: the steps, then what is left to do."""
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
        """Do the work of one turn; how it ended. Whoever cancels this call cancels the work and waits for it."""
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
        """Stop the turn that runs, if one does; what it started is ended by it."""
        if self._running is not None and not self._running.cancelling():
            self._running.cancel()

    async def stop(self) -> None:
        """Cancel the turn that runs and wait until it has ended."""
        if (task := self._running) is not None and not task.done():
            self.cancel()
            await asyncio.wait({task})
