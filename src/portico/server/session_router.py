"""Calls about sessions of other nodes, forwarded to the node that has the session.

| the session                                    | the call is answered                                          |
|------------------------------------------------|---------------------------------------------------------------|
| is open on a node, or was last                 | by that node, while it is alive                               |
| was on a node that is gone, in a shared folder | by a node that shares the folder, which opens the session     |
| was on a node that is gone, elsewhere          | here from the log if it only reads, otherwise with an error   |

A `Watch` whose node is lost continues from the log, after the last event that it delivered.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext
from pyqwest import Client as HttpClient

from portico.api.v1 import agent_pb as pb
from portico.api.v1.agent_client import AgentServiceClient
from portico.client.loopback_transport import LoopbackTransport
from portico.config.window_settings import WINDOW_HEADER
from portico.domain.errors import InvalidInput, ServerLost, SessionBusy
from portico.domain.ids import SessionId
from portico.domain.nodes import NodeRecord
from portico.doors.http.callers import calling
from portico.doors.http.guard import CALLER_HEADER
from portico.processes.tasks import cancel_and_wait
from portico.server.node import Node, choose_node
from portico.sessions.service import SessionService

FORWARDED_HEADER = "portico-forwarded"
"""Marks a call that a node has forwarded. It is answered where it arrives."""

_READING = frozenset(
    {
        "GetSession",
        "GetTimeline",
        "Watch",
        "ExportSession",
        "GetConversationPreview",
        "GetTodos",
        "GetProposal",
        "GetReviewStatus",
    }
)
_FROM_LOG = frozenset({"GetTimeline", "ExportSession", "GetConversationPreview"})
_LOST_CODES = (Code.UNAVAILABLE, Code.UNKNOWN, Code.DEADLINE_EXCEEDED)

Context = RequestContext[Any, Any]
_Result = TypeVar("_Result")


class _NodeLost(Exception):
    """The node that a call was forwarded to is gone, or no longer responds."""


class SessionRouter:
    """Interceptor that sends a call to the node of its session. `workspace` is the folder of this server."""

    def __init__(self, node: Node, service: SessionService, workspace: Path) -> None:
        self._node = node
        self._service = service
        self._workspace = workspace

    async def intercept_unary(
        self, call_next: Callable[[Any, Context], Awaitable[Any]], request: Any, ctx: Context
    ) -> Any:
        target = await self._target(request, ctx)
        if target is None:
            return await call_next(request, ctx)
        client, headers = self._client(target, ctx)
        call = client.execute_unary(request=request, method=ctx.method, headers=headers)
        try:
            return await self._while_alive(target, _translated(call))
        except _NodeLost as lost:
            if ctx.method.name in _READING:
                return await call_next(request, ctx)
            _raise_lost(target, lost)

    async def intercept_server_stream(
        self, call_next: Callable[[Any, Context], AsyncIterator[Any]], request: Any, ctx: Context
    ) -> AsyncIterator[Any]:
        target = await self._target(request, ctx)
        if target is not None:
            client, headers = self._client(target, ctx)
            answers: Any = client.execute_server_stream(request=request, method=ctx.method, headers=headers)
            try:
                async with aclosing(answers):
                    while (answer := await self._while_alive(target, _next_answer(answers))) is not None:
                        if isinstance(answer, pb.WatchResponse):
                            _note_seq(request, answer)
                        yield answer
                return
            except _NodeLost as lost:
                if ctx.method.name != "Watch":
                    _raise_lost(target, lost)
        async for answer in call_next(request, ctx):
            yield answer

    async def _target(self, request: Any, ctx: Context) -> NodeRecord | None:
        """The node to forward a call to; None if it is answered here."""
        if ctx.request_headers.get(FORWARDED_HEADER):
            return None
        if isinstance(request, pb.StartSessionRequest):
            return await self._place(request)
        session_id = SessionId(getattr(request, "session_id", ""))
        if not session_id or ctx.method.name in _FROM_LOG or self._service.find_session(session_id):
            return None
        owner = await self._node.nodes.owner_of(session_id)
        if owner.node in ("", self._node.name):
            return None
        nodes = {node.name: node for node in await self._node.nodes.all()}
        home = nodes.get(owner.node)
        if home is not None and home.alive and (owner.is_open or not home.draining):
            return home
        summary = await self._service.show(session_id)
        if owner.is_open:
            if ctx.method.name in _READING:
                return None
            raise SessionBusy(
                f"Node {owner.node}, which runs session {session_id}, does not answer.",
                suggestion=f"Try again in {self._node.nodes.seconds:.0f} seconds: it may return, or another "
                "node can take the session over.",
            )
        sharing = [node for node in nodes.values() if node.takes_sessions and node.shares(summary.workspace)]
        if any(node.name == self._node.name for node in sharing):
            return None
        if sharing:
            return min(sharing, key=lambda node: (node.load, node.name))
        if home is not None and home.alive:
            return home
        if ctx.method.name in _READING:
            return None
        raise InvalidInput(
            f"Session {session_id} works in {summary.workspace} on node {owner.node}, which is not running. "
            "It can be read here, but not continued.",
            suggestion=f"Start node {owner.node} again, or start a node that shares this folder "
            f"(--share {summary.workspace}).",
        )

    async def _place(self, request: pb.StartSessionRequest) -> NodeRecord | None:
        """The node for a new session; None if it is this one."""
        folder = request.workspace or ("" if request.labels else str(self._workspace))
        has_folder = await asyncio.to_thread(Path(folder or self._workspace).is_dir)
        nodes = await self._node.nodes.all()
        chosen = choose_node(
            nodes, self._node.name, folder=folder, labels=request.labels, has_folder=has_folder
        )
        if chosen == self._node.name:
            return None
        return next(node for node in nodes if node.name == chosen)

    def _client(self, target: NodeRecord, ctx: Context) -> tuple[AgentServiceClient, dict[str, str]]:
        client = AgentServiceClient(
            target.about.address.rstrip("/"),
            http_client=HttpClient(LoopbackTransport()),
            accept_compression=(),
            send_compression=None,
        )
        headers = {
            "authorization": f"Bearer {self._node.token_for(target.name)}",
            FORWARDED_HEADER: self._node.name,
            # Its device is known to this node only, which ends the call when it is revoked.
            CALLER_HEADER: json.dumps(msgspec.to_builtins(msgspec.structs.replace(calling(), device_id=""))),
        }
        if (settings := ctx.request_headers.get(WINDOW_HEADER)) is not None:
            headers[WINDOW_HEADER] = settings
        return client, headers

    async def _while_alive(self, target: NodeRecord, call: "Coroutine[Any, Any, _Result]") -> _Result:
        """The result of a call, or _NodeLost once its node is dead. One that is paused never answers."""
        task = asyncio.create_task(call, name=f"call to node {target.name}")
        try:
            while True:
                await asyncio.wait((task,), timeout=self._node.nodes.seconds / 3)
                if task.done():
                    return task.result()
                nodes = await self._node.nodes.all()
                if not any(node.name == target.name and node.alive for node in nodes):
                    raise _NodeLost(f"Node {target.name} no longer responds.")
        finally:
            await cancel_and_wait(task)


async def _translated(call: "Coroutine[Any, Any, _Result]") -> _Result:
    try:
        return await call
    except ConnectError as error:
        # Errors of the service have details; without them the connection was refused, or broke off.
        if not error.details and error.code in _LOST_CODES:
            raise _NodeLost(error.message) from error
        raise


async def _next_answer(answers: AsyncIterator[Any]) -> Any:
    """The next answer of a stream; None at its end."""
    return await _translated(_take(answers))


async def _take(answers: AsyncIterator[Any]) -> Any:
    return await anext(answers, None)


def _note_seq(request: pb.WatchRequest, answer: pb.WatchResponse) -> None:
    """Let the request continue after this answer."""
    update: Any = answer.update
    if update is not None and update.field == "event":
        request.after_seq = update.value.seq


def _raise_lost(target: NodeRecord, lost: _NodeLost) -> NoReturn:
    raise ServerLost(
        f"Node {target.name} did not answer ({lost}). It may have done what was asked: the session shows it.",
        suggestion="Look at the session, then try again. See the nodes with: portico node list",
    ) from lost
