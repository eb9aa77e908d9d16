"""Interface to a session for `exec` and `chat`, whether it is open in this process or on the server."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from portico.domain.components import ComponentStatus
from portico.domain.events import Event
from portico.domain.values import TodoItem
from portico.sessions.agent.login import AgentLogin
from portico.sessions.log.watch import ends_turn
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.turn import TurnPrompt


class ClientTurn(Protocol):
    """A turn that a command follows to its end."""

    @property
    def is_ours(self) -> bool:
        """Whether this command started the turn; otherwise it continues after the command ends."""
        ...

    async def run(self) -> None:
        """Start the turn and wait for its end. Raises the error that kept it from starting."""
        ...

    def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        """Events after `after_seq`, up to the end of the turn."""
        ...

    def stop(self, *, force: bool = False) -> None:
        """Ask the agent to stop; with `force`, end the agent at once."""
        ...


class ClientSession(Protocol):
    """A session that a command takes part in."""

    async def connect(self) -> None:
        """Start the agent before the first prompt."""
        ...

    def begin(self, prompt: TurnPrompt, *, wait: bool) -> ClientTurn:
        """A turn with this prompt. With `wait`, it starts when the folder is free."""
        ...

    def follow(self) -> ClientTurn:
        """The turn that another client has started."""
        ...

    def watch(self, *, after_seq: int) -> AsyncGenerator[Event]:
        """Every event after `after_seq`, in order, until the session is deleted."""
        ...

    async def decide(self, request_id: str, decision: PermissionReply) -> None:
        """Answer a permission request. InvalidInput if it is no longer open."""
        ...

    async def answer(self, request_id: str, answer: QuestionAnswer) -> None:
        """Answer a question. InvalidInput if it is no longer open, or the answer does not fit."""
        ...

    async def stop_tool(self, tool_id: str) -> None:
        """End one tool call that can be ended alone, if it is still running."""
        ...

    async def set_option(self, name: str, value: str | bool) -> None:
        """Set one of the agent's options, by ID, category or name."""
        ...

    async def write_todos(self, todos: Sequence[TodoItem]) -> None:
        """Replace the to-do list, and tell an agent that takes it."""
        ...

    async def components(self) -> Sequence[ComponentStatus]:
        """The components of the session's chain, with their state."""
        ...

    async def switch_component(self, name: str, *, on: bool) -> None:
        """Switch a component on or off for this session, from the next prompt on."""
        ...

    async def login(self) -> AgentLogin | None:
        """Login to the agent, if it is possible from this process."""
        ...

    async def close(self) -> None:
        """Leave the session."""
        ...


async def until_turn_ends(events: AsyncGenerator[Event], *, beyond: int = 0) -> AsyncGenerator[Event]:
    """Events up to the end of the first turn that ends after the seq `beyond`."""
    async with aclosing(events):
        async for event in events:
            yield event
            if event.seq > beyond and ends_turn(event):
                return
