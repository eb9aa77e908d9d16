"""Token and cost accounting of a turn and its session."""

from portico.acp import _schema as schema
from portico.porter.models.model import ModelUsage
from portico.porter.session import PorterSession


class TurnUsage:
    """Counts the tokens of one turn, and adds them to the session."""

    def __init__(self, session: PorterSession) -> None:
        self._session = session
        self._turn = ModelUsage()

    def add(self, usage: ModelUsage) -> None:
        self._session.add_spending(usage.input + usage.output, usage.cost_usd)
        self._turn = ModelUsage(
            input=self._turn.input + usage.input,
            output=self._turn.output + usage.output,
            cache_read=self._turn.cache_read + usage.cache_read,
            cache_write=self._turn.cache_write + usage.cache_write,
        )

    def total(self) -> schema.Usage | None:
        """Return the usage of the turn; None if no model was called."""
        if self._turn == ModelUsage():
            return None
        return schema.Usage(
            total_tokens=self._turn.input + self._turn.output,
            input_tokens=self._turn.input,
            output_tokens=self._turn.output,
            cached_read_tokens=self._turn.cache_read or None,
            cached_write_tokens=self._turn.cache_write or None,
        )

    def window(self, used: int, size: int) -> schema.UsageUpdate:
        """Return the fill level of the context window and the cost of the session."""
        dollars = self._session.spent_dollars
        cost = None if dollars is None else schema.Cost(amount=dollars, currency="USD")
        return schema.UsageUpdate(used=used, size=size, cost=cost)
