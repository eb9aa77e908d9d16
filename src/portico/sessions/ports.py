"""Interfaces that the session service needs: store, agents, editors, reviews, clock.

Nothing here does anything. Each port has an in-memory twin in `portico.testing`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from portico.acp import _schema as acp
from portico.acp.extensions import SessionPlacement
from portico.domain.drafts import SessionDraft
from portico.domain.events import AnyPayload, Event
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.values import SandboxStatus, TerminalOutput
from portico.rpc.streams import ByteStream


class Clock(Protocol):
    def now_ms(self) -> int:
        """UTC, in milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds, never going back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Lease(Protocol):
    """A right that one holder has at a time, and that a dead process cannot keep."""

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
        """Begin a session with all events of another, followed by these, in one durable transaction.

        They continue the numbers of the source, or nothing is written and StoreFailed is raised.
        """
        ...

    async def read(
        self, session_id: SessionId, *, after_seq: int, limit: int, max_bytes: int | None = None
    ) -> list[Event]:
        """Events with a greater seq, oldest first; none behind the one with which they have `max_bytes` as JSON."""
        ...

    async def tail(self, session_id: SessionId, *, before_seq: int | None, limit: int) -> list[Event]:
        """The last events before `before_seq` (or of the session), oldest first."""
        ...

    async def summary(self, session_id: SessionId) -> SessionSummary | None: ...

    async def standing(self, session_id: SessionId) -> list[Event]:
        """The last event of each kind that says how things stand; see `domain.events.STANDING`."""
        ...

    async def generation(self) -> int:
        """A number that is another one after any change, by this process or another."""
        ...

    async def desk(self, session_id: SessionId) -> SessionDraft:
        """What lies ready to be sent in a session."""
        ...

    async def save_drafts(self, session_id: SessionId, desk: SessionDraft) -> None:
        """Keep it so that it survives the death of any process; not for a session that is gone."""
        ...

    async def drafted(self) -> frozenset[SessionId]:
        """Sessions in which something lies ready to be sent."""
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
        """Sessions by their last change, newest first, without reading a body.

        `search` has words that title, folder or agent must contain; `before` begins after a session.
        """
        ...

    async def active_sessions(self) -> list[SessionId]:
        """Sessions whose log says that a turn is under way."""
        ...

    async def delete(self, session_id: SessionId) -> bool:
        """Remove a session and all its events; whether there was one."""
        ...

    async def verify(self) -> list[str]:
        """Every way in which a log is not gapless, ordered, decodable and as it was written and summed up."""
        ...

    async def accept_losses(self) -> None:
        """Report no longer what is missing now; the person knows."""
        ...

    def lease(self, name: str, holder: str) -> Lease | None:
        """Take the named right, or None while somebody else has it. `holder` tells others who."""
        ...

    def lease_holder(self, name: str) -> str | None:
        """Who has the named right now, if anybody."""
        ...


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How to start an agent: a name for people, a command, and what its environment adds.

    The hints are commands that a person can type: to install it, to sign in to it.
    """

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = {}
    keys: tuple[str, ...] | None = ()
    """The variables with keys of model providers that it gets; None for all, if its models may be anybody's."""
    install_hint: str | None = None
    login_hint: str | None = None


class AgentProcess(Protocol):
    """A running agent: bytes to and from it, and its life."""

    @property
    def stream(self) -> ByteStream: ...

    @property
    def sandbox(self) -> SandboxStatus | None:
        """How far it is confined, if a sandbox was wanted."""
        ...

    def stderr_tail(self) -> str:
        """The last words it said on its error output."""
        ...

    async def wait(self) -> str:
        """Until it is gone; how it ended, in words ("exit code 3", "signal SIGKILL")."""
        ...

    async def stop(self, *, grace: float) -> None:
        """End it and everything it started: politely, then for good. Returns when it is gone."""
        ...


class AgentLauncher(Protocol):
    async def launch(
        self, spec: AgentSpec, workspace: Path, *, folder: Path | None = None, reads_only: bool = False
    ) -> AgentProcess:
        """Start the program. AgentNotFound when it is missing or cannot be run.

        With a `folder` that stands for the workspace, the program stands in there. PermissionDenied when it may
        not start without a sandbox that cannot be had.
        """
        ...


class EditorFiles(Protocol):
    """Text files as the agent may see and change them. PermissionDenied for what it may not."""

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
    """Commands run for an agent. Each lives in its own process group."""

    async def create(self, request: TerminalRequest, listener: TerminalListener) -> str:
        """Start a command; its terminal id. The listener hears output as it comes, then the end."""
        ...

    def snapshot(self, terminal_id: str) -> TerminalSnapshot: ...

    async def wait(self, terminal_id: str) -> TerminalSnapshot: ...

    async def kill(self, terminal_id: str) -> None: ...

    async def release(self, terminal_id: str) -> None: ...

    async def close(self) -> None:
        """End every command that still runs."""
        ...


class Editor(Protocol):
    """Whoever reads buffers and runs commands for a session. A capability is an object you may get."""

    @property
    def files(self) -> EditorFiles | None: ...

    @property
    def terminals(self) -> EditorTerminals | None: ...


class EditorProvider(Protocol):
    def open(
        self, workspace: Path, *, folder: Path | None = None, session_id: SessionId | None = None
    ) -> Editor:
        """The editor of a session. With a `folder` that stands for the workspace, its files are those there."""
        ...


class Review(Protocol):
    """How the changes of one session reach the person's files."""

    @property
    def folder(self) -> Path:
        """Where the agent works: the workspace, or a tree of its own."""
        ...

    async def begin_turn(self, label: str) -> Sequence[AnyPayload]:
        """Make the way back sure, before the agent may change anything; what the log should say of it."""
        ...

    async def end_turn(self) -> Sequence[AnyPayload]:
        """What the agent has changed and the person has to look at, if there is anything."""
        ...


class ReviewProvider(Protocol):
    async def recover(self, workspace: Path) -> Sequence[AnyPayload]:
        """Let nobody find a folder half changed by a killed process; what the log should say of it."""
        ...

    async def check(self, workspace: Path, mode: ReviewMode, session_id: SessionId | None = None) -> None:
        """InvalidInput, with another way, if a session cannot work in a folder so, or this one not from now on."""
        ...

    async def open(self, session_id: SessionId, workspace: Path, mode: ReviewMode) -> Review: ...

    async def note_files(
        self, session_id: SessionId, workspace: Path, label: str, *, git_only: bool = False
    ) -> Sequence[AnyPayload]:
        """Note how the person's files are before a turn that must not touch them; what the log should say of it.

        With `git_only`, note what git runs or obeys and nothing else.
        """
        ...

    async def changed_outside(
        self, session_id: SessionId, workspace: Path, *, beside: bool = False
    ) -> Sequence[AnyPayload]:
        """What changed in those files since. `beside` another session that writes them, it may be the other's."""
        ...

    async def salvage(self, session_id: SessionId, workspace: Path) -> Sequence[AnyPayload]:
        """What a turn that died had changed, and the person has to look at."""
        ...

    async def check_deletable(self, session_id: SessionId) -> None:
        """InvalidInput, with what to do, while a deletion would lose or leave behind what the person has to decide on."""
        ...

    async def forget(self, session_id: SessionId, workspace: Path) -> None:
        """The session is deleted: what was kept for it goes too, what it proposes included. Branches stay."""
        ...


class ConfiguredMcpServers(msgspec.Struct, frozen=True):
    """The MCP servers that agents are given in a workspace, and sentences about those that they cannot be."""

    servers: tuple[acp.McpServer, ...] = ()
    problems: tuple[str, ...] = ()


FindMcpServers = Callable[[Path], ConfiguredMcpServers]
"""Finds them for a workspace. Blocks. InvalidInput when a settings file is broken."""


def _no_servers(_workspace: Path) -> ConfiguredMcpServers:
    return ConfiguredMcpServers()


IsConfined = Callable[[AgentSpec, SessionPlacement], bool]
"""Whether the kernel keeps the agent of a session away from the person's files, as far as its mode promises that."""


def _not_confined(_spec: AgentSpec, _placed: SessionPlacement) -> bool:
    return False


class SessionTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long things may take, in seconds."""

    start: float = 60.0
    idle: float = 900.0
    stop_grace: float = 5.0


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a host stands on, chosen once by whoever builds it."""

    store: Store
    agents: AgentLauncher
    editors: EditorProvider
    reviews: ReviewProvider
    clock: Clock
    mcp_servers: FindMcpServers = _no_servers
    confined: IsConfined = _not_confined
    limits: SessionTimeouts = SessionTimeouts()
    version: str = ""
