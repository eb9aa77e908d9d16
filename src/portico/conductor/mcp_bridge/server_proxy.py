"""Proxy that offers in-process MCP servers to each session under unguessable ids.

Each session is offered each server under its own unguessable id, which ends with the session. Requests for these
ids are answered here; everything else is passed on.
"""

import asyncio
import logging
import os
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, UnsetType

from portico.conductor.mcp_bridge import mcp_over_acp
from portico.conductor.mcp_bridge.mcp_over_acp import McpEnvelope, peer_method, read_envelope
from portico.conductor.mcp_bridge.server_list import acp_entry, read_entry
from portico.conductor.mcp_bridge.session_servers import ChainSession, SessionServersProxy
from portico.mcp.protocol import BACKEND_FAILED, CANCELLED, RESOURCE_LIMIT, SERVER_UNAVAILABLE, raw
from portico.mcp.server import InProcessServer, McpRequest
from portico.mcp.server_names import unique_name
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INVALID_PARAMS,
    NO_PARAMS,
    REQUEST_CANCELLED,
    Message,
    RequestId,
    RpcError,
    cancelled_request_id,
)

T = TypeVar("T")


class OperationCancelled(Exception):
    """Cancel the operation: its caller no longer waits."""


class CancellableOperation:
    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False
        self.ended = False

    def cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()

    async def run(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """Do the work. Cancelled if it was cancelled from here; the end of the chain passes through."""
        task = asyncio.create_task(work, name=name)
        self._task = task
        if self._cancelled:
            task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if self._cancelled and task.cancelled():
                raise OperationCancelled from None
            raise
        finally:
            self.ended = True


log = logging.getLogger(__name__)

MOST_ACTIVE = 64


class _Offer:
    """One server as one session knows it."""

    def __init__(self, server: InProcessServer, session: ChainSession) -> None:
        self.server = server
        self.session = session
        self.active: set[str | RequestId] = set()


class _Running(msgspec.Struct, frozen=True):
    operation: CancellableOperation
    offer: _Offer
    connection_id: str | None


class McpProxy(SessionServersProxy):
    """Give it servers, or override `servers` to choose them for each session."""

    name = "tools"
    agent_methods = (
        mcp_over_acp.MESSAGES | mcp_over_acp.CONNECTS | mcp_over_acp.DISCONNECTS | {CANCEL_REQUEST}
    )

    def __init__(self, servers: Sequence[InProcessServer] = ()) -> None:
        super().__init__()
        self._servers = servers
        self._offers: dict[str, _Offer] = {}
        self._offered_by_others: dict[ChainSession, frozenset[str]] = {}
        self._connections: dict[str, _Offer] = {}
        self._running: dict[RequestId, _Running] = {}

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        """The servers for one session."""
        return self._servers

    def servers_for(self, session: ChainSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        others = [read_entry(entry) for entry in servers]
        theirs = frozenset(entry.server_id for entry in others if entry.server_id is not None)
        if theirs:
            self._offered_by_others[session] = theirs
        ours = self.servers(session) if self.agent_takes_acp else ()
        if not ours:
            return servers
        taken = {entry.name for entry in others}
        added = []
        for server in ours:
            name, server_id = unique_name(server.name, taken), f"portico-{_unguessable()}"
            taken.add(name)
            self._offers[server_id] = _Offer(server, session)
            added.append(acp_entry(name, server_id))
        return [*servers, *added]

    def forget(self, session: ChainSession) -> None:
        for running in [one for one in self._running.values() if one.offer.session is session]:
            running.operation.cancel()
        self._offers = {key: one for key, one in self._offers.items() if one.session is not session}
        self._connections = {key: one for key, one in self._connections.items() if one.session is not session}
        self._offered_by_others.pop(session, None)

    def from_agent(self, message: Message) -> None:
        try:
            if message.method == CANCEL_REQUEST:
                self._cancel(message)
            elif message.method in mcp_over_acp.CONNECTS:
                self._connect(message, read_envelope(message))
            elif message.method in mcp_over_acp.DISCONNECTS:
                self._disconnect(message, read_envelope(message))
            elif message.method in mcp_over_acp.MESSAGES:
                self._receive(message, read_envelope(message))
            else:
                super().from_agent(message)
        except RpcError as error:
            self.refuse_agent(message, error)

    def _cancel(self, message: Message) -> None:
        if not self._cancelled(message.params):
            self.forward_left(message)

    def _cancelled(self, params: Raw | None) -> bool:
        """Cancel what the parameters name, if it is one of ours."""
        named = cancelled_request_id(params or NO_PARAMS)
        running = None if isinstance(named, UnsetType) else self._running.get(named)
        if running is None:
            return False
        running.operation.cancel()
        return True

    def _connect(self, message: Message, envelope: McpEnvelope) -> None:
        offer = self._offers.get(envelope.server_id or "")
        if offer is None:
            self._pass_on(message, envelope)
            return
        connection_id = _unguessable()
        self._connections[connection_id] = offer
        self.answer_agent(message, mcp_over_acp.connection_names(connection_id, message.method or ""))

    def _disconnect(self, message: Message, envelope: McpEnvelope) -> None:
        if self._connections.pop(envelope.connection_id or "", None) is None:
            self._pass_on(message, envelope)
            return
        for running in [one for one in self._running.values() if one.connection_id == envelope.connection_id]:
            running.operation.cancel()
        self.answer_agent(message, {})

    def _receive(self, message: Message, envelope: McpEnvelope) -> None:
        if envelope.connection_id is not None:
            offer = self._connections.get(envelope.connection_id)
        else:
            offer = self._offers.get(envelope.server_id or "")
        if offer is None:
            self._pass_on(message, envelope)
        elif not isinstance(message.id, UnsetType):
            self._begin(message, message.id, envelope, offer)
        elif envelope.method == CANCELLED:
            # A connection has no ids of its own, so the request is named by the id it has in ACP.
            self._cancelled(envelope.params)

    def _pass_on(self, message: Message, envelope: McpEnvelope) -> None:
        """Pass on a message for an unknown id: it may belong to a proxy further left; if not, it is refused here."""
        if envelope.server_id is not None:
            known = any(envelope.server_id in theirs for theirs in self._offered_by_others.values())
        else:
            known = bool(self._offered_by_others)
        if not known:
            what = "that connection" if envelope.server_id is None else f"the server {envelope.server_id}"
            raise RpcError(SERVER_UNAVAILABLE, f"{what} is not offered, or not any more")
        self.forward_left(message)

    def _begin(self, message: Message, acp_id: RequestId, envelope: McpEnvelope, offer: _Offer) -> None:
        key = acp_id if envelope.connection_id is not None else envelope.request_id
        if key is None:
            raise RpcError(INVALID_PARAMS, f"{message.method} needs a requestId")
        if key in offer.active or acp_id in self._running:
            raise RpcError(INVALID_PARAMS, f"the request {key} is already being answered")
        if len(offer.active) >= MOST_ACTIVE:
            raise RpcError(RESOURCE_LIMIT, f"more than {MOST_ACTIVE} requests at a time")
        offer.active.add(key)
        running = self._running[acp_id] = _Running(CancellableOperation(), offer, envelope.connection_id)

        async def answer() -> None:
            try:
                await self._answer(message, acp_id, envelope, running)
            finally:
                offer.active.discard(key)
                del self._running[acp_id]

        self.node.spawn(answer(), f"{envelope.method} of {offer.server.name}")

    async def _answer(
        self, message: Message, acp_id: RequestId, envelope: McpEnvelope, running: _Running
    ) -> None:
        server, session, operation = running.offer.server, running.offer.session, running.operation

        def notify(method: str, params: Any) -> None:
            if not operation.ended:
                self._notify(message, envelope, method, params)

        request = McpRequest(envelope.method, envelope.params, session.session_id, session.cwd, notify)
        outcome: Raw | RpcError
        try:
            outcome = raw(await operation.run(server.answer(request), f"{server.name}: {envelope.method}"))
        except RpcError as error:
            outcome = error
        except OperationCancelled:
            self.refuse_agent(message, RpcError(REQUEST_CANCELLED, "the request was cancelled"))
            return
        except Exception:  # top level of a server: the request is refused, and the chain continues
            log.exception("the MCP server %s failed", server.name)
            what = f"the MCP server {server.name} failed"
            self.refuse_agent(message, RpcError(BACKEND_FAILED, what))
            return
        write = mcp_over_acp.answer_call if envelope.connection_id is None else mcp_over_acp.answer_connected
        self.node.send_right(write(acp_id, outcome))

    def _notify(self, message: Message, envelope: McpEnvelope, method: str, params: Any) -> None:
        if envelope.connection_id is None:
            carried = mcp_over_acp.call(envelope.server_id or "", envelope.request_id or "", method, params)
        else:
            spelling = message.method or ""
            carried = mcp_over_acp.connected_call(envelope.connection_id, spelling, method, params)
        self.tell_agent(peer_method(message.method, "message"), carried)


def _unguessable() -> str:
    return os.urandom(24).hex()
