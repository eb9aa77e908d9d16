"""Interfaces that the session service needs: store, agents, editors, reviews, clock.

`portico.testing` has in-memory implementations.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from portico.acp import _schema as acp
from portico.acp.extensions import SessionPlacement
from portico.domain.components import ComponentStatus, SessionComponents
from portico.domain.costs import Spending
from portico.domain.drafts import SessionDraft
from portico.domain.events import AnyPayload, Event
from portico.domain.ids import SessionId
from portico.domain.problems import Problem
from portico.domain.reviews import ReviewMode
from portico.domain.search import SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.domain.values import SandboxStatus, TerminalOutput
from portico.rpc.frames import Transport
from portico.sessions.code_servers import CodeServers


class Clock(Protocol):
    def now_ms(self) -> int:
        """UTC, in milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Lease(Protocol):
    """Exclusive right of one holder, which ends with its process; `is_lost` after a silence that was too long."""

    @property
    def is_lost(self) -> bool: ...

    def release(self) -> None: ...


class Store(Protocol):
    """The event log. Every method may be called from several processes at once."""

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Add events of one session in one transaction.

        Their numbers continue the log without a gap, or nothing is written and StoreFailed is
        raised. `durable` waits until they would survive a power cut; without it they survive
        the death of any process.
        """
        ...

    async def copy(self, source: SessionId, events: Sequence[Event]) -> None:
        """Create a session with all events of another, followed by these, in one durable transaction.

        They continue the numbers of the source, or nothing is written and StoreFailed is raised.
        """
        ...

    async def read(
        self, session_id: SessionId, *, after_seq: int, limit: int, max_bytes: int | None = None
    ) -> list[Event]:
        """Events with a greater seq, oldest first, up to the one that reaches `max_bytes` as JSON."""
        ...

    async def tail(self, session_id: SessionId, *, before_seq: int | None, limit: int) -> list[Event]:
        """The last events before `before_seq` (or of the session), oldest first."""
        ...

    async def summary(self, session_id: SessionId) -> SessionSummary | None: ...

    async def standing(self, session_id: SessionId) -> list[Event]:
        """The last event of each kind in `domain.events.STATE_PAYLOADS`."""
        ...

    async def permission_events(self, session_id: SessionId) -> list[Event]:
        """The permission requests of a session, the decisions on them, and its starts, which name forks; oldest first."""

    async def generation(self) -> int:
        """A number that differs after any change by any process."""
        ...

    async def draft(self, session_id: SessionId) -> SessionDraft:
        """The draft and the queued prompts of a session."""
        ...

    async def save_drafts(self, session_id: SessionId, draft: SessionDraft) -> None:
        """Save the draft so that it survives the death of any process. Does nothing for a deleted session."""
        ...

    async def drafted(self) -> frozenset[SessionId]:
        """Sessions that have a draft or queued prompts."""
        ...

    async def summaries(
        self,
        *,
        workspace: str | None = None,
        id_prefix: str = "",
        search: str = "",
        before: SessionId | None = None,
        limit: int = 100,
    ) -> list[SessionSummary]:
        """Sessions by their last change, newest first.

        `search` has words that title, folder or agent must contain; the page starts after the session `before`.
        """
        ...

    async def search(self, query: SearchQuery) -> SearchPage:
        """Messages that match, newest first."""
        ...

    async def spending(self, *, since_ms: int = 0, session_id: SessionId | None = None) -> list[Spending]:
        """Costs of sessions since a time, each by day and model; of all sessions, or of one."""
        ...

    async def index_for_search(self, *, seconds: float) -> int:
        """Prepare events for the search for some time; returns the number of events that still wait."""
        ...

    async def active_sessions(self) -> list[SessionId]:
        """Sessions whose log has a turn that has not ended."""
        ...

    async def delete(self, session_id: SessionId) -> bool:
        """Delete a session and all its events; False if there was none."""
        ...

    async def verify(self) -> list[str]:
        """Problems of the log: gaps, wrong order, undecodable events, wrong checksums and summaries."""
        ...

    async def accept_losses(self) -> None:
        """Stop reporting the losses known so far."""
        ...

    async def lease(self, name: str, holder: str) -> Lease | None:
        """Take the named lease; None while another holder has it. `holder` is shown to others."""
        ...

    async def lease_holder(self, name: str) -> str | None:
        """The holder of the named lease, if any."""
        ...


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An agent to start: its name, command and environment variables.

    The hints are commands that install the agent or log in to it.
    """

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = {}
    components: SessionComponents = SessionComponents()
    """Requirements of a session for the chain before its agent."""
    keys: tuple[str, ...] | None = ()
    """Provider key variables that the agent gets; None for all, if it may use any provider."""
    install_hint: str | None = None
    login_hint: str | None = None


class AgentProcess(Protocol):
    """A running agent program and its byte stream."""

    @property
    def stream(self) -> Transport: ...

    @property
    def sandbox(self) -> SandboxStatus | None:
        """Confinement of the agent, if a sandbox was requested."""
        ...

    def stderr_tail(self) -> str:
        """The end of its error output."""
        ...

    async def wait(self) -> str:
        """Wait for its end; returns how it ended ("exit code 3", "signal SIGKILL")."""
        ...

    async def stop(self, *, grace: float) -> None:
        """End it and everything it started: gracefully, then by force. Returns when it is gone."""
        ...


class AgentLauncher(Protocol):
    async def launch(
        self, spec: AgentSpec, workspace: Path, *, folder: Path | None = None, reads_only: bool = False
    ) -> AgentProcess:
        """Start the program. AgentNotFound when it is missing or cannot be run.

        With a `folder`, the program works there instead of in the workspace. PermissionDenied if it must not start
        without a sandbox and there is none.
        """
        ...


class EditorFiles(Protocol):
    """Text files that the agent may read and write. PermissionDenied for others."""

    async def read_text(self, path: str, *, line: int | None = None, limit: int | None = None) -> str: ...

    async def write_text(self, path: str, content: str) -> None: ...


TerminalListener = Callable[[TerminalOutput], None]


class TerminalRequest(msgspec.Struct, frozen=True, kw_only=True):
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    output_byte_limit: int | None = None


class TerminalSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    output: str
    truncated: bool
    ended: bool
    exit_code: int | None = None
    signal: str | None = None


class EditorTerminals(Protocol):
    """Commands run for an agent, each in its own process group."""

    async def create(self, request: TerminalRequest, listener: TerminalListener) -> str:
        """Start a command; returns its terminal id. The listener gets output as it arrives, then the end."""
        ...

    def snapshot(self, terminal_id: str) -> TerminalSnapshot: ...

    async def wait(self, terminal_id: str) -> TerminalSnapshot: ...

    async def kill(self, terminal_id: str) -> None: ...

    async def release(self, terminal_id: str) -> None: ...

    async def close(self) -> None:
        """End every running command."""
        ...


class Editor(Protocol):
    """Files and terminals for the agent of one session; None for a missing capability."""

    @property
    def files(self) -> EditorFiles | None: ...

    @property
    def terminals(self) -> EditorTerminals | None: ...


class EditorProvider(Protocol):
    def open(
        self, workspace: Path, *, folder: Path | None = None, session_id: SessionId | None = None
    ) -> Editor:
        """The editor of a session. With a `folder`, its files are those there instead of in the workspace."""
        ...


class Review(Protocol):
    """Review of one session: how its changes reach the person's files."""

    @property
    def folder(self) -> Path:
        """The folder in which the agent works: the workspace, or a working copy."""
        ...

    async def begin_turn(self, label: str) -> Sequence[AnyPayload]:
        """Take a checkpoint before the agent can change anything; returns the events to log."""
        ...

    async def end_turn(self) -> Sequence[AnyPayload]:
        """Collect the agent's changes as a proposal; returns the events to log."""
        ...


class ReviewProvider(Protocol):
    async def recover(self, workspace: Path) -> Sequence[AnyPayload]:
        """Finish or roll back what a killed process left half done in a folder; returns the events to log."""
        ...

    async def check(self, workspace: Path, mode: ReviewMode, session_id: SessionId | None = None) -> None:
        """InvalidInput, with an alternative, if the mode does not work in this folder, or for this session any more."""
        ...

    async def open(self, session_id: SessionId, workspace: Path, mode: ReviewMode) -> Review: ...

    async def note_files(
        self, session_id: SessionId, workspace: Path, label: str, *, git_only: bool = False
    ) -> Sequence[AnyPayload]:
        """Record the state of the person's files before a turn that must not change them; returns the events to log.

        With `git_only`, record only what git executes or obeys.
        """
        ...

    async def changed_outside(
        self, session_id: SessionId, workspace: Path, *, beside: bool = False
    ) -> Sequence[AnyPayload]:
        """Changes of those files since. `beside` says that another session may have made them."""
        ...

    async def salvage(self, session_id: SessionId, workspace: Path) -> Sequence[AnyPayload]:
        """Collect the changes of an interrupted turn; returns the events to log."""
        ...

    async def check_deletable(self, session_id: SessionId) -> None:
        """InvalidInput, with a suggestion, while a deletion would lose open proposals or unfinished work."""
        ...

    async def forget(self, session_id: SessionId, workspace: Path) -> None:
        """Delete what is kept for a deleted session, with its proposals. Branches stay."""
        ...


IsConfined = Callable[[AgentSpec, SessionPlacement], bool]
"""Whether a sandbox keeps the agent from writing the person's files, where its mode protects them."""


class SessionTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Time limits, in seconds."""

    start: float = 60.0
    idle: float = 900.0
    stop_grace: float = 5.0


HearProblems = Callable[[str, Sequence[Problem]], None]
"""Gets the name of a file in the workspace, and all its problems."""


class ProblemReports(Protocol):
    """Problems of files, reported whenever they change."""

    def covers(self, workspace: Path) -> bool:
        """Whether the problems of a workspace are reported now."""
        ...

    def known(self, workspace: Path, path: str) -> Sequence[Problem]:
        """The problems of a file of a workspace that were reported last."""
        ...

    def listen(self, workspace: Path, hear: HearProblems) -> Callable[[], None]:
        """Hear of every later report about a file of the workspace, until the returned function is called."""
        ...


class ComponentCatalog(Protocol):
    """The components that chains to agents can have."""

    async def statuses(
        self, workspace: Path, chosen: SessionComponents, agent: acp.AgentCapabilities
    ) -> Sequence[ComponentStatus]:
        """The state of each in the chain of a session."""
        ...

    async def switch(
        self, workspace: Path, chosen: SessionComponents, change: SessionComponents
    ) -> SessionComponents:
        """Choices of a session after a change; only those that differ from the settings.

        InvalidInput for an unknown name, and for one that flags or the user's trust decide.
        """
        ...


FindCodeServers = Callable[[Path], Awaitable[CodeServers | None]]
"""The language servers for a workspace; None if it has none, or the component `code` is off there."""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """The ports of one host, chosen when it is built."""

    store: Store
    agents: AgentLauncher
    editors: EditorProvider
    reviews: ReviewProvider
    clock: Clock
    confined: IsConfined = lambda _spec, _placed: False
    limits: SessionTimeouts = SessionTimeouts()
    problems: ProblemReports | None = None
    components: ComponentCatalog | None = None
    code_servers: FindCodeServers | None = None
    checks_edits: bool = False
    """Whether language servers check what tool calls change: where the process outlives a turn."""
    version: str = ""
