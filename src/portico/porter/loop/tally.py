"""What the models of a session take: tokens of the turn and dollars of the session, and who watches over them."""

from typing import Protocol

from portico.acp import _schema as schema
from portico.porter.conversation import Conversation
from portico.porter.models.port import Usage


class Purse(Protocol):
    """Watches over what may be spent. Its methods block, for a moment."""

    def begin_turn(self) -> None: ...

    def check(self) -> None:
        """BudgetExceeded when nothing more may be spent."""
        ...

    def add(self, usage: Usage) -> tuple[str, ...]:
        """Count a request; what the person should know."""
        ...


class Unlimited:
    """Nobody set a limit."""

    def begin_turn(self) -> None:
        return

    def check(self) -> None:
        return

    def add(self, usage: Usage) -> tuple[str, ...]:
        return ()


class Tally:
    """Counts one turn, and adds to what the conversation keeps."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._turn = Usage()

    def add(self, usage: Usage) -> None:
        self._conversation.pay(usage.input + usage.output, usage.cost_usd)
        self._turn = Usage(
            input=self._turn.input + usage.input,
            output=self._turn.output + usage.output,
            cache_read=self._turn.cache_read + usage.cache_read,
            cache_write=self._turn.cache_write + usage.cache_write,
        )

    def of_turn(self) -> schema.Usage | None:
        """What the answer to a prompt reports; None if no model was asked."""
        if self._turn == Usage():
            return None
        return schema.Usage(
            total_tokens=self._turn.input + self._turn.output,
            input_tokens=self._turn.input,
            output_tokens=self._turn.output,
            cached_read_tokens=self._turn.cache_read or None,
            cached_write_tokens=self._turn.cache_write or None,
        )

    def window(self, used: int, size: int) -> schema.UsageUpdate:
        """How full the model's window is, for the client's gauge, and what the session cost."""
        dollars = self._conversation.spent_dollars
        cost = None if dollars is None else schema.Cost(amount=dollars, currency="USD")
        return schema.UsageUpdate(used=used, size=size, cost=cost)
