"""What somebody who looks on is told of a chain. The chain works the same without anyone."""

from collections.abc import Sequence
from typing import Literal, Protocol

from portico.conductor.message import Message
from portico.rpc.messages import Fault

Side = Literal["client", "agent"]
Gone = Literal["client", "agent", "conductor"]


class Watch(Protocol):
    """Links are counted from the client, which is 0, to the agent. None is the conductor itself."""

    def opened(self, stations: Sequence[str]) -> None:
        """The chain is built, with these between the client and the agent."""
        ...

    def passed(self, message: Message, sender: int | None, receiver: int | None) -> None:
        """A message goes from one link to another. Those in between do not look at it."""
        ...

    def fault(self, side: Side, fault: Fault) -> None:
        """One end sent something that goes no further."""
        ...

    def closed(self, gone: Gone) -> None:
        """The chain is over. Either end is gone, or the conductor was told to stop."""
        ...
