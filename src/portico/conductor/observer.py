"""The interface through which a chain reports its messages to an observer such as a trace."""

from collections.abc import Sequence
from typing import Literal, Protocol

from portico.rpc.messages import Fault, Message

ChainSide = Literal["client", "agent"]
ClosedBy = Literal["client", "agent", "conductor"]


class ChainObserver(Protocol):
    """Links are counted from the client, which is 0, to the agent. None is the conductor itself."""

    def opened(self, nodes: Sequence[str]) -> None:
        """The chain is built, with these between the client and the agent."""
        ...

    def passed(self, message: Message, sender: int | None, receiver: int | None) -> None:
        """A message goes from one link to another; those in between do not see it."""
        ...

    def fault(self, side: ChainSide, fault: Fault) -> None:
        """One end sent a message that is dropped."""
        ...

    def closed(self, gone: ClosedBy) -> None:
        """The chain has ended: one end is gone, or the conductor was stopped."""
        ...
