"""Opens the agent's side of a session: resume, load, fork, or a new session with a summary.

First `session/resume`, then `session/load`; `session/fork` for a fork; else a new session that gets a summary. Some
agents accept an id that they do not know: a load that replays nothing of a conversation with answers counts as
refused, and so does a reopened session whose first prompt is refused because of it.
"""

from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp import extensions
from portico.acp.connection import AUTH_REQUIRED, RESOURCE_NOT_FOUND
from portico.domain.errors import InvalidInput
from portico.domain.events import Notice
from portico.domain.values import AgentSession, AttachedBy, ForkedFrom
from portico.rpc.messages import INVALID_PARAMS, RpcError
from portico.sessions.agent.connection import AgentConnection

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime

_AnyResponse = (
    acp.NewSessionResponse | acp.LoadSessionResponse | acp.ResumeSessionResponse | acp.ForkSessionResponse
)
_Response = TypeVar("_Response", bound=_AnyResponse)


class AttachResult(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's session, its options, and the methods that were refused."""

    session: AgentSession
    config_options: list[acp.SessionConfigOption] = []
    modes: acp.SessionModeState | None = None
    refused_methods: tuple[str, ...] = ()
    forked: bool = False
    branched: bool = False
    """Whether the session begins before an edited prompt, so that the agent has no session to fork."""

    @property
    def forgotten(self) -> bool:
        """Whether the agent does not know the conversation, and needs a summary."""
        return self.session.attached_by == "replay"

    def notices(self) -> Iterator[Notice]:
        """Notices for the person about how the session was opened."""
        details = "\n".join(self.refused_methods) or None
        if self.forgotten and self.branched:
            yield Notice(
                level="info", text="The agent gets a summary of the conversation before the edited prompt."
            )
        elif self.forgotten:
            could_not = "fork its own session" if self.forked else "reload this conversation"
            text = f"The agent could not {could_not}, so it gets a summary with the next prompt."
            yield Notice(level="warning", text=text, details=details)
        elif self.session.attached_by == "fork":
            yield Notice(level="info", text="The agent forked its own session; it knows the conversation.")
        elif details is not None:
            yield Notice(
                level="info", text="The agent reloaded this conversation in another way.", details=details
            )


class HistoryListener(Protocol):
    """Gets the updates that an agent sends while it opens a session."""

    updates: int

    def take(self, update: acp.SessionUpdate | Raw) -> bool:
        """Whether the update belongs to the history; if not, it is recorded as usual."""
        ...


class HistoryCounter:
    """Counts updates of the history, which the log has already."""

    def __init__(self) -> None:
        self.updates = 0

    def take(self, update: acp.SessionUpdate | Raw) -> bool:
        if isinstance(update, acp.AvailableCommandsUpdate):
            return False
        if not isinstance(update, acp.ConfigOptionUpdate | acp.CurrentModeUpdate):
            self.updates += 1
        return True


async def attach_session(
    connection: AgentConnection,
    session: "SessionRuntime",
    *,
    known: str | None,
    forked_from: ForkedFrom | None,
) -> AttachResult:
    """Find the agent's session, or create one. `known` is the agent's id of it."""
    attempts = _AttachAttempts(connection, session, HistoryCounter())
    attached = None
    if known is not None:
        attached = await attempts.resume(known) or await attempts.load(known)
        if attached is not None and await attempts.replayed_nothing(attached):
            attached = None
    elif forked_from is not None and forked_from.agent_session_id is not None:
        attached = await attempts.fork(forked_from.agent_session_id)
    if attached is None:
        had_past = known is not None or (forked_from is not None and forked_from.last_turn is not None)
        attached = await attempts.begin("replay" if had_past else "new")
    return msgspec.structs.replace(
        attached,
        refused_methods=tuple(attempts.failed),
        forked=known is None and forked_from is not None,
        branched=known is None and forked_from is not None and forked_from.before_seq is not None,
    )


async def attach_anew(
    connection: AgentConnection, session: "SessionRuntime", refusal: RpcError
) -> AttachResult:
    """Create another session at an agent that reopened one and then refused a prompt in it."""
    attempts = _AttachAttempts(connection, session, HistoryCounter())
    attached = await attempts.begin("replay")
    way = f"The agent reopened its session but does not know the conversation: {refusal.reason}"
    return msgspec.structs.replace(attached, refused_methods=(way,))


def is_unknown_session(error: RpcError, session_id: str) -> bool:
    """Whether an agent seems to refuse a request because it does not know the session."""
    if error.code not in (INVALID_PARAMS, RESOURCE_NOT_FOUND):
        return False
    data = bytes(error.data).decode(errors="replace") if isinstance(error.data, Raw) else ""
    return "session" in error.message.lower() or session_id in f"{error.message} {data}"


async def attach_adopted(
    connection: AgentConnection, session: "SessionRuntime", session_id: str, history_listener: HistoryListener
) -> AttachResult:
    """Open a session that the agent had without Portico, with its history if the agent can send it."""
    attempts = _AttachAttempts(connection, session, history_listener)
    attached = await attempts.load(session_id) or await attempts.resume(session_id)
    if attached is None:
        why = " ".join(attempts.failed) or "It offers neither session/load nor session/resume."
        raise InvalidInput(
            f"The agent {connection.spec.name} cannot continue its session {session_id}. {why}",
            suggestion=f"List its sessions with: portico agents sessions {connection.spec.name}. A session of another "
            "folder needs --cwd.",
        )
    return attached


class _AttachAttempts:
    """Ways to open the agent's session, each tried once; None if one does not work."""

    def __init__(
        self,
        connection: AgentConnection,
        session: "SessionRuntime",
        history_listener: HistoryListener,
    ) -> None:
        self.failed: list[str] = []
        self._connection = connection
        self._session = session
        self._history_listener = history_listener
        self._offered = connection.info.agent_capabilities
        self._settings: dict[str, Any] = {
            "cwd": str(session.review.folder),
            # The chain adds those of the settings.
            "mcp_servers": [],
            "meta": extensions.to_meta(session.review.placed),
        }

    async def begin(self, way: AttachedBy) -> AttachResult:
        request = acp.NewSessionRequest(**self._settings)
        response = await self._connection.new_session(self._session, request)
        return _attached(response.session_id, way, response)

    async def resume(self, session_id: str) -> AttachResult | None:
        if self._offered.session_capabilities.resume is None:
            return None
        request = acp.ResumeSessionRequest(session_id=session_id, **self._settings)
        return await self._replay(
            session_id, "resume", self._connection.resume_session(self._session, request)
        )

    async def load(self, session_id: str) -> AttachResult | None:
        if not self._offered.load_session:
            return None
        request = acp.LoadSessionRequest(session_id=session_id, **self._settings)
        return await self._replay(session_id, "load", self._connection.load_session(self._session, request))

    async def fork(self, session_id: str) -> AttachResult | None:
        if self._offered.session_capabilities.fork is None:
            return None
        request = acp.ForkSessionRequest(session_id=session_id, **self._settings)
        response = await self._attempt("fork", self._connection.fork_session(self._session, request))
        return None if response is None else _attached(response.session_id, "fork", response)

    async def _replay(
        self, session_id: str, way: AttachedBy, call: Awaitable[_Response]
    ) -> AttachResult | None:
        """Open a session whose history the agent may send again, to the listener."""
        self._session.history_listener = self._history_listener
        try:
            response = await self._attempt(way, call)
        finally:
            self._session.history_listener = None
        if response is None:
            return None
        return _attached(session_id, way, response, self._history_listener.updates)

    async def _attempt(self, way: AttachedBy, call: Awaitable[_Response]) -> _Response | None:
        try:
            return await call
        except RpcError as error:
            if error.code == AUTH_REQUIRED:
                raise
            self.failed.append(f"The agent refused session/{way}: {error.reason}")
            return None

    async def replayed_nothing(self, attached: AttachResult) -> bool:
        """Whether the agent loaded a conversation, but sent nothing of the history that the log has."""
        session = attached.session
        if (
            session.attached_by != "load"
            or session.replayed_updates
            or not await self._session.attachment.was_answered()
        ):
            return False
        self._connection.abandon(session.agent_session_id)
        self.failed.append("The agent answered session/load, but replayed nothing of the conversation.")
        return True


def _attached(session_id: str, way: AttachedBy, response: _AnyResponse, replayed: int = 0) -> AttachResult:
    return AttachResult(
        session=AgentSession(agent_session_id=session_id, attached_by=way, replayed_updates=replayed),
        config_options=response.config_options or [],
        modes=response.modes,
    )
