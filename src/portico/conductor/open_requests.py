"""The requests that are open at either end of a chain, and the checks on ids and responses that follow from them.

A response must answer a request that its sender has received, and only once. A request whose id is in use is dropped,
because the two could not be told apart.
"""

from collections.abc import Callable

from msgspec import UNSET

from portico.conductor.observer import ChainSide
from portico.rpc.messages import Fault, FaultKind, Message, RequestId, make_fault, shorten

_OTHER: dict[ChainSide, ChainSide] = {"client": "agent", "agent": "client"}


class OpenRequests:
    """`on_fault` is called for what is dropped. Both ends may share one space of ids: see `share_ids`."""

    def __init__(self, on_fault: Callable[[ChainSide, Fault], None]) -> None:
        self._on_fault = on_fault
        self._asked_by: dict[ChainSide, set[RequestId]] = {"client": set(), "agent": set()}
        self._shown_to: dict[ChainSide, set[RequestId]] = {"client": set(), "agent": set()}
        self._shared = False

    @property
    def asked_by_client(self) -> set[RequestId]:
        """The ids of requests that the client waits for."""
        return self._asked_by["client"]

    @property
    def unanswered_by_client(self) -> list[RequestId]:
        """The ids of requests that the client has not answered."""
        return list(self._shown_to["client"])

    def share_ids(self) -> None:
        """Treat both ends as one peer from now on, whose requests all have different ids."""
        self._shared = True

    def may_enter(self, side: ChainSide, message: Message) -> bool:
        """Whether a message of one end may be passed on. A request is open from then on."""
        if message.method is None:
            return self._answers(side, message)
        if message.id is UNSET:
            return True
        in_use = self._asked_by[side] | self._asked_by[_OTHER[side]] if self._shared else self._asked_by[side]
        if message.id in in_use:
            return self._refuse(
                side, "duplicate_id", f"request {shorten(message.id)} is still being served", message
            )
        self._asked_by[side].add(message.id)
        return True

    def may_leave(self, side: ChainSide, message: Message) -> bool:
        """Whether a message may be sent to one end: a second or unsolicited response may not."""
        if message.method is not None:
            if message.id is not UNSET:
                self._shown_to[side].add(message.id)
            return True
        if message.id is None or message.id is UNSET:
            return True
        if message.id not in self._asked_by[side]:
            detail = f"request {shorten(message.id)} is not open"
            return self._refuse(_OTHER[side], "unknown_response", detail, message)
        self._asked_by[side].remove(message.id)
        return True

    def _answers(self, side: ChainSide, message: Message) -> bool:
        if message.id is None or message.id is UNSET:
            return True
        if message.id not in self._shown_to[side]:
            detail = f"the {side} was never asked request {shorten(message.id)}"
            return self._refuse(side, "unknown_response", detail, message)
        self._shown_to[side].remove(message.id)
        return True

    def _refuse(self, side: ChainSide, kind: FaultKind, detail: str, message: Message) -> bool:
        self._on_fault(side, make_fault(kind, detail, message.line))
        return False
