"""One open session: runs its turns, answers its requests and restarts its agent after a crash."""

import asyncio

from portico.domain.errors import SessionBusy
from portico.domain.events import TurnEnded
from portico.domain.turns import TurnState
from portico.sessions.agent.supervision import restart_agent
from portico.sessions.leases import wait_for_tree_lease
from portico.sessions.runtime import SessionRuntime
from portico.sessions.tasks import cancel_and_wait
from portico.sessions.turn import Turn, TurnPrompt


class Session:
    def __init__(self, session: SessionRuntime, writing: "asyncio.Task[None]") -> None:
        self.session = session
        self.turn: Turn | None = None
        self._writing = writing
        self._restarting: asyncio.Task[None] | None = None

    def require_no_turn(self) -> None:
        """SessionBusy in the middle of one."""
        if self.turn is not None:
            raise SessionBusy(
                f"Session {self.session.id} is in the middle of a turn.",
                suggestion="Wait for it, or stop it first.",
            )

    async def take_turn(self, prompt: TurnPrompt | None, *, wait_for_tree: bool) -> TurnEnded:
        """Run one turn to its end, with the working tree if it needs that; without a prompt, only resume."""
        self.require_no_turn()
        turn = self.turn = Turn(self.session, prompt)
        try:
            await self.stop_restarting()
            tree = None
            if self.session.reviewing.writes_workspace:
                tree = await wait_for_tree_lease(self.session, turn, wait=wait_for_tree)
            try:
                ended = await turn.run()
            finally:
                if tree is not None:
                    tree.release()
        finally:
            self.turn = None
        if ended.state is TurnState.INTERRUPTED:
            work = restart_agent(self.session)
            self._restarting = asyncio.create_task(work, name=f"reviving {self.session.id}")
        return ended

    async def stop_restarting(self) -> None:
        if self._restarting is not None:
            await cancel_and_wait(self._restarting)
            self._restarting = None

    async def dismiss(self, *, forget: bool = False) -> None:
        """Stop what runs, write what is left, and let go of everything."""
        if self.turn is not None:
            self.turn.stop(force=True)
        await self.stop_restarting()
        await cancel_and_wait(self._writing)
        await self.session.close(forget=forget)
