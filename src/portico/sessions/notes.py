"""What is done for sessions beside their turns, written down without anybody waiting for it.

Of a session that nobody has open it is kept, until whoever has it next writes it down.
"""

from collections import deque
from collections.abc import Callable

from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.sessions.journal import Journal

MOST_KEPT = 1_000


class Notes:
    def __init__(self, journal_of: Callable[[SessionId], Journal | None]) -> None:
        self._journal_of = journal_of
        self._kept: dict[SessionId, deque[AnyPayload]] = {}

    def tell(self, session_id: SessionId, payload: AnyPayload) -> None:
        """Add to the log of a session soon. Implements `sessions.windows.Tell`."""
        journal = self._journal_of(session_id)
        if journal is not None:
            journal.record(payload)
        else:
            self._kept.setdefault(session_id, deque(maxlen=MOST_KEPT)).append(payload)

    def take(self, session_id: SessionId) -> tuple[AnyPayload, ...]:
        """What was kept for a session, to be written down by whoever asks."""
        return tuple(self._kept.pop(session_id, ()))
