"""Opens the agent's side of a session: resume, load, fork, or a new session with a summary.

`session/resume`, else `session/load`; a fork by `session/fork`; else a new session that is told
what was said before. Some agents say yes to an id that they do not know: a load that tells nothing again of a
conversation with answers in it counts as refused, and so does a reopened session whose first prompt is refused
in its name.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

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

_Settings = (
    acp.NewSessionResponse | acp.LoadSessionResponse | acp.ResumeSessionResponse | acp.ForkSessionResponse
)


class AttachResult(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's session, what it can be set to, and which ways to it were refused."""

    session: AgentSession
    config_options: list[acp.SessionConfigOption] = []
    modes: acp.SessionModeState | None = None
    refused_methods: tuple[str, ...] = ()
    forked: bool = False

    @property
    def forgotten(self) -> bool:
        """Whether the agent knows nothing of what was said, and has to be told."""
        return self.session.attached_by == "replay"

    def notices(self) -> Iterator[Notice]:
        """What a person should know of how the agent was reached."""
        for way in self.refused_methods:
            yield Notice(level="warning", text=way)
        if self.forgotten:
            could_not = "fork its own session" if self.forked else "reload this conversation"
            text = f"The agent could not {could_not}, so it is given a summary of it with the next prompt."
            yield Notice(level="warning", text=text)
        elif self.session.attached_by == "fork":
            yield Notice(
                level="info", text="The agent forked its own session; it knows what was said before."
            )


class HistoryListener(Protocol):
    """Hears what an agent tells again of a conversation while it opens it."""

    updates: int

    def take(self, update: acp.SessionUpdate | Raw) -> bool:
        """Whether the update belongs to the past; if not, it is news as ever."""
        ...


class HistoryCounter:
    """What the log has already is counted, not written again."""

    def __init__(self) -> None:
        self.updates = 0

    def take(self, update: acp.SessionUpdate | Raw) -> bool:
        if isinstance(update, acp.AvailableCommandsUpdate):
            return False
        if not isinstance(update, acp.ConfigOptionUpdate | acp.CurrentModeUpdate):
            self.updates += 1
        return True


async def attach_session(
    link: AgentConnection, session: "SessionRuntime", *, known: str | None, forked_from: ForkedFrom | None
) -> AttachResult:
    """Find the agent's session, or make one. `known` is what the agent called it when it was last there."""
    ways = _AttachAttempts(link, session, HistoryCounter(), await session.attachment.usable_mcp_servers(link))
    attached = None
    if known is not None:
        attached = await ways.resume(known) or await ways.load(known)
        if attached is not None and await ways.replayed_nothing(attached):
            attached = None
    elif forked_from is not None and forked_from.agent_session_id is not None:
        attached = await ways.fork(forked_from.agent_session_id)
    if attached is None:
        had_past = known is not None or (forked_from is not None and forked_from.last_turn is not None)
        attached = await ways.begin("replay" if had_past else "new")
    return msgspec.structs.replace(
        attached, refused_methods=tuple(ways.failed), forked=known is None and forked_from is not None
    )


async def attach_anew(link: AgentConnection, session: "SessionRuntime", refusal: RpcError) -> AttachResult:
    """Begin another session at an agent that reopened one and then refused a prompt in it."""
    ways = _AttachAttempts(link, session, HistoryCounter(), await session.attachment.usable_mcp_servers(link))
    attached = await ways.begin("replay")
    way = f"The agent reopened its session, but does not know it: {refusal.reason}"
    return msgspec.structs.replace(attached, refused_methods=(way,))


def is_unknown_session(error: RpcError, session_id: str) -> bool:
    """Whether an agent refuses a request because it does not know the session, as far as its words tell."""
    if error.code not in (INVALID_PARAMS, RESOURCE_NOT_FOUND):
        return False
    data = bytes(error.data).decode(errors="replace") if isinstance(error.data, Raw) else ""
    return "session" in error.message.lower() or session_id in f"{error.message} {data}"


async def attach_adopted(
    link: AgentConnection, session: "SessionRuntime", session_id: str, history_listener: HistoryListener
) -> AttachResult:
    """Open a conversation of the agent's own, told from its beginning where the agent can do that."""
    ways = _AttachAttempts(link, session, history_listener, await session.attachment.usable_mcp_servers(link))
    attached = await ways.load(session_id) or await ways.resume(session_id)
    if attached is None:
        why = " ".join(ways.failed) or "It offers neither session/load nor session/resume."
        raise InvalidInput(
            f"The agent {link.spec.name} cannot go on with its session {session_id}. {why}",
            suggestion=f"See what it has with: portico agents sessions {link.spec.name}. A session of another "
            "folder needs --cwd.",
        )
    return attached


class _AttachAttempts:
    """Each way to the agent's session is tried once; None says that it does not lead there."""

    def __init__(
        self,
        link: AgentConnection,
        session: "SessionRuntime",
        history_listener: HistoryListener,
        servers: Sequence[acp.McpServer],
    ) -> None:
        self.failed: list[str] = []
        self._link = link
        self._session = session
        self._folder = str(session.review.folder)
        self._placed = extensions.to_meta(session.review.placed)
        self._retelling = history_listener
        self._servers = list(servers)
        self._offered = link.info.agent_capabilities

    async def begin(self, way: AttachedBy) -> AttachResult:
        request = acp.NewSessionRequest(cwd=self._folder, mcp_servers=self._servers, meta=self._placed)
        response = await self._link.new_session(self._session, request)
        return _attached(response.session_id, way, response)

    async def resume(self, session_id: str) -> AttachResult | None:
        if self._offered.session_capabilities.resume is None:
            return None
        request = acp.ResumeSessionRequest(
            session_id=session_id, cwd=self._folder, mcp_servers=self._servers, meta=self._placed
        )
        self._session.history_listener = self._retelling
        try:
            response = await self._link.resume_session(self._session, request)
        except RpcError as error:
            self._refused("session/resume", error)
            return None
        finally:
            self._session.history_listener = None
        return _attached(session_id, "resume", response, self._retelling.updates)

    async def load(self, session_id: str) -> AttachResult | None:
        if not self._offered.load_session:
            return None
        request = acp.LoadSessionRequest(
            session_id=session_id, cwd=self._folder, mcp_servers=self._servers, meta=self._placed
        )
        self._session.history_listener = self._retelling
        try:
            response = await self._link.load_session(self._session, request)
        except RpcError as error:
            self._refused("session/load", error)
            return None
        finally:
            self._session.history_listener = None
        return _attached(session_id, "load", response, self._retelling.updates)

    async def fork(self, session_id: str) -> AttachResult | None:
        if self._offered.session_capabilities.fork is None:
            return None
        request = acp.ForkSessionRequest(
            session_id=session_id, cwd=self._folder, mcp_servers=self._servers, meta=self._placed
        )
        try:
            response = await self._link.fork_session(self._session, request)
        except RpcError as error:
            self._refused("session/fork", error)
            return None
        return _attached(response.session_id, "fork", response)

    async def replayed_nothing(self, attached: AttachResult) -> bool:
        """Whether the agent loaded a conversation, and told nothing of what the log has of it."""
        session = attached.session
        if (
            session.attached_by != "load"
            or session.replayed_updates
            or not await self._session.attachment.was_answered()
        ):
            return False
        self._link.abandon(session.agent_session_id)
        self.failed.append("The agent answered session/load, but told nothing of the conversation.")
        return True

    def _refused(self, way: str, error: RpcError) -> None:
        if error.code == AUTH_REQUIRED:
            raise error
        self.failed.append(f"The agent refused {way}: {error.reason}")


def _attached(session_id: str, way: AttachedBy, response: _Settings, replayed: int = 0) -> AttachResult:
    return AttachResult(
        session=AgentSession(agent_session_id=session_id, attached_by=way, replayed_updates=replayed),
        config_options=response.config_options or [],
        modes=response.modes,
    )
