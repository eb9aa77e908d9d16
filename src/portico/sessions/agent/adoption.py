"""Imports a conversation that the agent had without Portico into a new session log.

The history that the agent sends becomes finished turns. What it does not send stays unknown to Portico.
"""

from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.events import PromptSubmitted, TurnEnded
from portico.domain.turns import TurnState
from portico.domain.values import RETOLD
from portico.rpc.messages import ConnectionLost
from portico.sessions.agent.resume import attach_adopted
from portico.sessions.agent.supervision import start_agent
from portico.sessions.content import translation
from portico.sessions.runtime import SessionRuntime


async def adopt(session: SessionRuntime, agent_session_id: str) -> None:
    """Start the agent, open its session and record the history. Raises PorticoError if that fails."""

    async def attach() -> None:
        if session.connection is None:
            raise ConnectionLost("the agent is gone")
        recollection = HistoryRecorder(session)
        try:
            attached = await attach_adopted(session.connection, session, agent_session_id, recollection)
        finally:
            recollection.close()
        session.attachment.record(attached)
        await session.options.restore(session.connection.end, attached, {})

    await start_agent(session, attach)


class HistoryRecorder:
    """Records the history that an agent sends; each message of the person starts a turn."""

    def __init__(self, session: SessionRuntime) -> None:
        self.updates = 0
        self._session = session
        self._asked: list[acp.ContentBlock] = []
        self._message_id: str | None = None
        self._in_turn = False

    def take(self, update: acp.SessionUpdate | Raw) -> bool:
        self.updates += 1
        match update:
            case acp.UserMessageChunk(content=block, message_id=message_id):
                if message_id != self._message_id:
                    self._begin_turn()
                self._message_id = message_id
                self._asked.append(block)
            case Raw():
                self._begin_turn()
                self._session.journal.record(translation.unknown_update(Raw(bytes(update))))
            case _:
                self._begin_turn()
                self._session.record_update(update)
        return True

    def close(self) -> None:
        """End the last turn of the history."""
        self._begin_turn()
        self._end_turn()
        self._session.journal.turn_id = None

    def _begin_turn(self) -> None:
        """Start a turn with the collected message of the person."""
        asked, self._asked = self._asked, []
        if not asked:
            return
        self._end_turn()
        self._session.begin_turn()
        self._in_turn = True
        text = "".join(block.text for block in asked if isinstance(block, acp.TextContent))
        others = tuple(translation.as_raw(block) for block in asked if not isinstance(block, acp.TextContent))
        self._session.journal.record(PromptSubmitted(text=text, blocks=others))

    def _end_turn(self) -> None:
        self._session.settle()
        if self._in_turn:
            self._in_turn = False
            tools = self._session.tools.count
            self._session.journal.record(
                TurnEnded(state=TurnState.COMPLETED, stop_reason=RETOLD, duration_ms=0, tools_used=tools)
            )
