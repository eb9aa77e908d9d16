"""Base class of proxies that change the list of MCP servers of each session."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec import Raw

from portico.acp.extensions import SessionPlacement
from portico.acp.session_id import read_session_id
from portico.acp.session_methods import CLOSING_METHODS, CREATING_METHODS, OPENING_METHODS
from portico.conductor.mcp_bridge.server_list import (
    SessionOpening,
    accepts_mcp_over,
    read_opening,
)
from portico.conductor.proxy import Proxy
from portico.rpc.messages import Message, response


class ChainSession:
    """One opening of a session. One that the agent makes has no id until the agent has answered."""

    def __init__(self, cwd: str, session_id: str | None, placed: SessionPlacement) -> None:
        self.cwd = cwd
        self.session_id = session_id
        self.placed = placed


class SessionServersProxy(Proxy, ABC):
    """Override `servers_for`, which may change the servers of each new session, and `forget`."""

    client_methods = OPENING_METHODS | CLOSING_METHODS | {"initialize"}

    def __init__(self) -> None:
        super().__init__()
        self.agent_takes_acp = False
        self._sessions: list[ChainSession] = []

    @abstractmethod
    def servers_for(self, session: ChainSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        """The servers to open the session with, given those of the request."""

    @abstractmethod
    def forget(self, session: ChainSession) -> None:
        """The session could not be opened, or is closed."""

    def opened(self, session: ChainSession) -> None:
        """The client has been told that the session is open."""

    def introduced(self, result: Raw) -> Raw:
        """The result of `initialize` as the client gets it."""
        return result

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self.forward_right(message, self._initialized)
        elif message.method in OPENING_METHODS and message.is_request:
            self._open(message)
        elif message.method in CLOSING_METHODS and message.is_request:
            self._close(message)
        else:
            super().from_client(message)

    def _initialized(self, answer: Message) -> None:
        if isinstance(answer.result, Raw):
            self.agent_takes_acp = accepts_mcp_over("acp", answer.result)
            result = self.introduced(answer.result)
            if result is not answer.result:
                answer = response(answer.id, result)  # type: ignore[arg-type]
        self.node.send_left(answer)

    def _open(self, message: Message) -> None:
        opening = read_opening(message.params)
        if opening is None:
            self.forward_right(message)
            return
        session_id = None if message.method in CREATING_METHODS else opening.session_id
        session = ChainSession(opening.cwd, session_id, opening.placed)
        self._sessions.append(session)

        def answered(answer: Message) -> None:
            if isinstance(answer.result, Raw):
                session.session_id = session.session_id or read_session_id(answer.result)
                self.node.send_left(answer)
                self.opened(session)
            else:
                self._end(session)
                self.node.send_left(answer)

        self.forward_right(self._changed(message, opening, session), answered)

    def _changed(self, message: Message, opening: SessionOpening, session: ChainSession) -> Message:
        servers = self.servers_for(session, opening.servers)
        return message if servers is opening.servers else message.with_params(opening.with_servers(servers))

    def _close(self, message: Message) -> None:
        session_id = read_session_id(message.params)

        def answered(answer: Message) -> None:
            if isinstance(answer.result, Raw) and session_id is not None:
                for session in [one for one in self._sessions if one.session_id == session_id]:
                    self._end(session)
            self.node.send_left(answer)

        self.forward_right(message, answered)

    def _end(self, session: ChainSession) -> None:
        self._sessions.remove(session)
        self.forget(session)
