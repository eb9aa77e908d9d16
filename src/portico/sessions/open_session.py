"""One open session: runs its turns, answers its requests and restarts its agent after a crash."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from portico.acp.extension_handlers import RESERVED_PREFIXES, check_extension_name
from portico.acp.session_id import with_session_id
from portico.domain.components import SessionComponents
from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import AnyPayload, ComponentsUpdated, Notice, TitleUpdated, TurnEnded
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.turns import TurnEvent, TurnState
from portico.domain.values import SandboxStatus, TodoItem
from portico.processes.tasks import cancel_and_wait
from portico.sessions.agent.connection import AgentConnection
from portico.sessions.agent.login import AgentLogin
from portico.sessions.agent.supervision import call_agent, restart_agent, start_agent
from portico.sessions.leases import take_tree_lease, tree_lease_name
from portico.sessions.ports import AgentSpec, Lease
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.runtime import SessionRuntime
from portico.sessions.turn import Turn, TurnPrompt

TREE_POLL_SECONDS = 0.25
_TREE_IN_USE = (
    "Stop it, wait for it with --wait, work beside it with --mode worktree or proposal, "
    "or only read (--read-only)."
)


class OpenSession:
    """Handle of a session that is open in this process. Closed through the service that gave it."""

    def __init__(self, runtime: SessionRuntime, writer: "asyncio.Task[None]") -> None:
        self.runtime = runtime
        self.turn_task: asyncio.Task[TurnEnded] | None = None
        """The turn that is running, if any."""
        self._turn: Turn | None = None
        self._writer = writer
        self._restart: asyncio.Task[None] | None = None
        self._switching = asyncio.Lock()

    @property
    def id(self) -> SessionId:
        return self.runtime.id

    @property
    def last_seq(self) -> int:
        """The seq of the last event in the log."""
        return self.runtime.journal.committed_seq

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running."""
        return self._turn is not None

    @property
    def is_ending(self) -> bool:
        """Whether the running turn is being stopped, or has only its end left to write."""
        return self._turn is not None and self._turn.ending

    @property
    def open_requests(self) -> int:
        """Number of permission requests and questions that wait for the person."""
        requests = self.runtime.requests
        return len(requests.permissions.open) + len(requests.questions.open)

    @property
    def sandbox(self) -> SandboxStatus | None:
        """Confinement of the agent, while it runs."""
        return None if self.runtime.connection is None else self.runtime.connection.sandbox

    def start_turn(
        self,
        prompt: TurnPrompt | None,
        *,
        wait_for_tree: bool = False,
        on_end: Callable[[TurnEnded], None] | None = None,
    ) -> "asyncio.Task[TurnEnded]":
        """Start a turn; without a prompt, one that only resumes an interrupted session.

        SessionBusy if a turn is running. The task raises SessionBusy if the working tree is in use and it
        should not wait for it. `on_end` is called before anything else can start the next turn.
        """
        if prompt is not None:
            prompt.require_content()
        elif self.runtime.status.state is not TurnState.INTERRUPTED:
            raise InvalidInput(
                f"Session {self.id} is not interrupted ({self.runtime.status.state.label}).",
                suggestion="Send a prompt.",
            )
        self._require_idle()
        turn = self._turn = Turn(self.runtime, prompt)
        work = self._run_turn(turn, wait_for_tree=wait_for_tree, on_end=on_end)
        self.turn_task = asyncio.create_task(work, name=f"turn of {self.id}")
        # A task that is cancelled before its first step never runs its `finally`.
        self.turn_task.add_done_callback(lambda _: self._forget_turn(turn))
        return self.turn_task

    async def prompt(self, prompt: TurnPrompt, *, wait_for_tree: bool = False) -> TurnEnded:
        """Run one turn to its end. Cancelling this interrupts the turn."""
        return await self.start_turn(prompt, wait_for_tree=wait_for_tree)

    async def resume(self) -> TurnEnded:
        """Restart the agent of an interrupted session, without a prompt."""
        return await self.start_turn(None)

    async def discard(self) -> None:
        """Give up an interrupted turn."""
        if self.runtime.status.state is not TurnState.INTERRUPTED:
            raise InvalidInput(f"Session {self.id} has no interrupted turn.")
        await self.record(self.runtime.move(TurnEvent.DISCARD))

    def stop(self, *, force: bool = False) -> bool:
        """Stop the running turn; False if there is none."""
        if self._turn is None:
            return False
        self._turn.stop(force=force)
        return True

    async def stop_command(self, terminal_id: str) -> bool:
        """End one command that the agent runs; False if there is none with this id."""
        terminals = self.runtime.terminals
        try:
            if terminals is None or terminals.snapshot(terminal_id).ended:
                return False
            await terminals.kill(terminal_id)
        except InvalidInput:
            # The agent has released it meanwhile, which ends it too.
            return False
        return True

    def stop_tool(self, tool_id: str) -> bool:
        """Ask the chain to end one tool call; False if it is not running, or cannot be ended alone."""
        runtime = self.runtime
        if runtime.connection is None or runtime.agent_session_id is None:
            return False
        if not runtime.tools.is_stoppable(tool_id):
            return False
        runtime.connection.end.stop_tool(runtime.agent_session_id, tool_id)
        return True

    def decide(self, request_id: str, decision: PermissionReply) -> None:
        """Answer a permission request."""
        self.runtime.requests.permissions.answer(request_id, decision)

    def answer(self, request_id: str, answer: QuestionAnswer) -> None:
        """Answer a question of the agent. InvalidInput if the answer does not fit the question."""
        self.runtime.requests.questions.answer(request_id, answer)

    async def save_answers(self) -> None:
        """Wait until the log has every decision and answer. StoreFailed if it cannot be written."""
        await self.runtime.requests.save()

    async def connect(self) -> None:
        """Start the agent before the first prompt, so that its commands are known and it answers sooner."""
        if not self.is_busy:
            await self._start_agent()
            await self.runtime.journal.commit()

    async def set_option(self, name: str, value: str | bool) -> None:
        """Set one of the agent's options, by id, category or name; starts the agent if it is not running."""
        if not self.is_busy:
            await self._start_agent()
        await call_agent(self.runtime, self.runtime.set_option(name, value), f"set {name}")
        await self.runtime.journal.commit()

    async def call_extension(self, method: str, params: Raw) -> Raw:
        """Call an extension method of the agent; starts the agent if it is not running."""
        connection, params = await self._extension_target(method, params)
        return await call_agent(
            self.runtime, connection.end.call_extension(method, params), f"answer {method}"
        )

    async def notify_extension(self, method: str, params: Raw) -> None:
        """Send an extension notification to the agent; starts the agent if it is not running."""
        connection, params = await self._extension_target(method, params)
        connection.end.notify_extension(method, params)

    async def _extension_target(self, method: str, params: Raw) -> tuple[AgentConnection, Raw]:
        """The agent's connection, and the parameters with the agent's name of the session."""
        if check_extension_name(method).startswith(RESERVED_PREFIXES):
            raise InvalidInput(
                f"{method} is for the chain itself.", suggestion="Call an extension method of the agent."
            )
        if not self.is_busy:
            await self._start_agent()
        connection, session_id = self.runtime.connection, self.runtime.agent_session_id
        if connection is None or session_id is None:
            raise InvalidInput("The agent is not running.", suggestion="Send a prompt to start it.")
        try:
            return connection, with_session_id(params, session_id)
        except msgspec.DecodeError as error:
            raise InvalidInput(
                f"The parameters of {method} are invalid: {error}.", suggestion="Send a JSON object."
            ) from error

    async def login(self) -> AgentLogin:
        """Log in to the agent, and out again; starts the agent if it is not running."""
        await self._stop_restart()
        return AgentLogin(await self.runtime.connect())

    async def set_mode(self, mode: ReviewMode) -> None:
        """Change the review mode. SessionBusy in the middle of a turn."""
        self._require_idle()
        await self.runtime.ports.reviews.check(self.runtime.workspace, mode, self.id)
        await self._stop_restart()
        await self.runtime.change_mode(mode)
        await self.record(self.runtime.started_event())

    async def switch_components(self, change: SessionComponents) -> None:
        """Switch components on and off for this session. They join or leave its chain with the next prompt.

        InvalidInput for an unknown component, and for one that flags or the user's trust decide.
        """
        runtime = self.runtime
        if runtime.ports.components is None:
            raise InvalidInput("Sessions of this process have no components.")
        async with self._switching:
            chosen = await runtime.ports.components.switch(runtime.workspace, runtime.components, change)
            if chosen != runtime.components:
                runtime.components = chosen
                await self.record(ComponentsUpdated(on=chosen.on, off=chosen.off))

    async def renew_agent(self, spec: AgentSpec) -> bool:
        """Use an agent with this environment from now on; False in the middle of a turn."""
        async with self.runtime.connect_lock:
            if self.is_busy:
                return False
            if self.runtime.spec.env != spec.env:
                await self.runtime.disconnect()
                self.runtime.spec = spec
            return True

    async def record(self, *payloads: AnyPayload) -> None:
        """Write events to the log."""
        await self.runtime.journal.commit(*payloads)

    async def rename(self, title: str) -> None:
        """Give the session a title that its agent does not change. InvalidInput if it is empty."""
        if not title.strip():
            raise InvalidInput("A session needs a title.")
        await self.record(TitleUpdated(title=title.strip(), by_person=True))

    async def write_todos(self, todos: Sequence[TodoItem]) -> None:
        """Replace the to-do list with the person's."""
        await self.runtime.write_todos(tuple(todos))

    async def close(self, *, forget: bool = False) -> None:
        """Stop the turn, write what is left and release the agent and the lease.

        With `forget` the agent deletes its side of the session.
        """
        self.stop(force=True)
        await self._stop_restart()
        await cancel_and_wait(self._writer)
        await self.runtime.close(forget=forget)

    def _require_idle(self) -> None:
        if self.is_busy:
            raise SessionBusy.in_turn(self.id)

    async def _run_turn(
        self, turn: Turn, *, wait_for_tree: bool, on_end: Callable[[TurnEnded], None] | None
    ) -> TurnEnded:
        try:
            await self._stop_restart()
            tree = None
            if self.runtime.review.writes_workspace:
                tree = await self._lease_tree(turn, wait=wait_for_tree)
            try:
                ended = await turn.run()
            finally:
                if tree is not None:
                    tree.release()
        finally:
            self._forget_turn(turn)
        if ended.state is TurnState.INTERRUPTED:
            self._restart = asyncio.create_task(restart_agent(self.runtime), name=f"restarting {self.id}")
        if on_end is not None:
            on_end(ended)
        return ended

    def _forget_turn(self, turn: Turn) -> None:
        if self._turn is turn:
            self._turn = self.turn_task = None

    async def _lease_tree(self, turn: Turn, *, wait: bool) -> Lease:
        """Lease the working tree. SessionBusy while another session works in it, unless this one should wait."""
        store, workspace = self.runtime.ports.store, self.runtime.workspace
        waiting = False
        while True:
            try:
                return await take_tree_lease(store, self.id, workspace, suggestion=_TREE_IN_USE)
            except SessionBusy:
                if not wait or turn.stopping:
                    raise
            if not waiting:
                waiting = True
                text = f"Waiting for {await self._tree_holder()}, which is working in this folder."
                self.runtime.journal.record(Notice(level="info", text=text))
            await self.runtime.ports.clock.sleep(TREE_POLL_SECONDS)

    async def _tree_holder(self) -> str:
        """The session that works in the tree, by its title if it has one."""
        store = self.runtime.ports.store
        holder = await store.lease_holder(tree_lease_name(self.runtime.workspace))
        if holder is None:
            return "another session"
        summary = await store.summary(SessionId(holder))
        return f"“{summary.title}”" if summary is not None and summary.title else f"session {holder}"

    async def _start_agent(self) -> None:
        await self._stop_restart()
        await start_agent(self.runtime)

    async def _stop_restart(self) -> None:
        if self._restart is not None:
            await cancel_and_wait(self._restart)
            self._restart = None
