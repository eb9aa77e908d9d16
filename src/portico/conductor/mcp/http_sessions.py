"""The conversations that agents have over HTTP: with an id over several requests, or without for a single one."""

from http import HTTPStatus

from portico.conductor.mcp.carriers import Carriers
from portico.conductor.mcp.http1 import Refused
from portico.conductor.mcp.link import Link, Open

MOST_SESSIONS = 16
"""Of one server. Agents that come again rarely say goodbye before."""


class HttpSession:
    def __init__(self, server: Open, session_id: str | None) -> None:
        self.server = server
        self.session_id = session_id
        self.carriers = Carriers()
        self.link = Link(self.carriers, server)

    async def close(self) -> None:
        self.carriers.end_all()
        await self.link.close()


class HttpSessions:
    def __init__(self) -> None:
        self._sessions: list[HttpSession] = []

    async def begin(self, server: Open, session_id: str | None) -> HttpSession:
        """A new one; if there are many with an id, the one that rested longest is ended."""
        if session_id is not None:
            known = [one for one in self._sessions if one.server is server and one.session_id is not None]
            if len(known) >= MOST_SESSIONS:
                resting = next((one for one in known if one.carriers.idle), None)
                if resting is None:
                    raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"more than {MOST_SESSIONS} sessions")
                await self.end(resting)
        session = HttpSession(server, session_id)
        self._sessions.append(session)
        return session

    def find(self, server: Open, session_id: str) -> HttpSession:
        """The one that goes by this id. Refused if there is none, or not any more."""
        for place, session in enumerate(self._sessions):
            if session.server is server and session.session_id == session_id:
                self._sessions.append(self._sessions.pop(place))
                return session
        raise Refused(HTTPStatus.NOT_FOUND, "this session is over")

    async def end(self, session: HttpSession) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
            await session.close()

    async def forget(self, server: Open) -> None:
        for session in [one for one in self._sessions if one.server is server]:
            await self.end(session)

    async def close(self) -> None:
        for session in list(self._sessions):
            await self.end(session)
