"""The nodes, the agent and the start limit that a chain is built from."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Raw

from portico.conductor.node import ChainNode
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

    nodes: Sequence[ChainNode]
    agent: ByteStream | None
    exit_error: Callable[[], Awaitable[RpcError]] | None = None
    start_limit: StartLimit | None = None


Assemble = Callable[[Raw], Awaitable[Assembly]]
"""Builds the chain from the parameters of `initialize`. RpcError becomes the answer to it."""
