"""What a chain is built of: its stations, its agent, and how long the start of them may take."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Raw

from portico.conductor.station import Station
from portico.rpc.messages import RpcError
from portico.rpc.streams import ByteStream


class StartLimit(msgspec.Struct, frozen=True):
    """`over` returns when `initialize` should be answered; `overdue` says why it is not, or None to wait on."""

    over: Callable[[], Awaitable[None]]
    overdue: Callable[[], RpcError | None]


class Assembly(msgspec.Struct, frozen=True):
    """What stands to the right of the client: proxies in order, then the agent's stream.

    There is no agent in a chain that is itself a proxy. `farewell` says why the agent is gone; with
    it, requests of the client that are still open are answered before the chain ends. Without it the
    client just sees the end.
    """

    stations: Sequence[Station]
    agent: ByteStream | None
    farewell: Callable[[], Awaitable[RpcError]] | None = None
    start_limit: StartLimit | None = None


Assemble = Callable[[Raw], Awaitable[Assembly]]
"""Builds the chain from the parameters of `initialize`. RpcError becomes the answer to it."""
