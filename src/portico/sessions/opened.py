"""A session that is open in this process: the task that writes its log, the turn it is in, and its agent's revival."""

import asyncio

from portico.domain.errors import SessionBusy
from portico.domain.events import TurnEnded
from portico.domain.turns import TurnState
from portico.sessions.deadlines import put_down
from portico.sessions.live import LiveSession
from portico.sessions.supervision import revive
from portico.sessions.trees import take_tree
from portico.sessions.turn import Prompt, Turn


class OpenSession:
    def __init__(self, session: LiveSession, writing: "asyncio.Task[None]") -> None:
        self.session = session
        self.turn: Turn | None = None
        self._writing = writing
        self._reviving: asyncio.Task[None] | None = None

    def require_no_turn(self) -> None:
        """SessionBusy in the middle of one."""
        if self.turn is not None:
            raise SessionBusy(
                f"Session {self.session.id} is in the middle of a turn.",
                suggestion="Wait for it, or stop it first.",
            )

    async def take_turn(self, prompt: Prompt | None, *, wait_for_tree: bool) -> TurnEnded:
        """Run one turn to its end, with the working tree if it needs that; without a prompt, only resume."""
        self.require_no_turn()
        turn = self.turn = Turn(self.session, prompt)
        try:
            await self.stop_reviving()
            tree = None
            if self.session.reviewing.writes_workspace:
                tree = await take_tree(self.session, turn, wait=wait_for_tree)
            try:
                ended = await turn.run()
            finally:
                if tree is not None:
                    tree.release()
        finally:
            self.turn = None
        if ended.state is TurnState.INTERRUPTED:
            work = revive(self.session)
            self._reviving = asyncio.create_task(work, name=f"reviving {self.session.id}")
        return ended

    async def stop_reviving(self) -> None:
        if self._reviving is not None:
            await put_down(self._reviving)
            self._reviving = None

    async def dismiss(self, *, forget: bool = False) -> None:
        """Stop what runs, write what is left, and let go of everything."""
        if self.turn is not None:
            self.turn.stop(force=True)
        await self.stop_reviving()
        await put_down(self._writing)
        await self.session.close(forget=forget)
