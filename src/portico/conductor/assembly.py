"""The nodes, the agent and the start limit that a chain is built from."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Raw

from portico.conductor.node import ChainNode
from portico.rpc.frames import Transport
from portico.rpc.messages import RpcError


class StartLimit(msgspec.Struct, frozen=True):
    """`over` returns when `initialize` should be answered; `overdue` says why it is not, or None to wait on."""

    over: Callable[[], Awaitable[None]]
    overdue: Callable[[], RpcError | None]


class Assembly(msgspec.Struct, frozen=True):
    """The proxies of a chain in order, and the agent's transport; None if the chain is itself a proxy.

    `exit_error` says why the agent is gone; with it, open requests of the client are answered before the chain
    ends. Without it the client just sees the end.
    """

    nodes: Sequence[ChainNode]
    agent: Transport | None
    exit_error: Callable[[], Awaitable[RpcError]] | None = None
    start_limit: StartLimit | None = None


Assemble = Callable[[Raw], Awaitable[Assembly]]
"""Builds the chain from the parameters of `initialize`. RpcError becomes the answer to it."""
