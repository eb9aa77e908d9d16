"""Answers the requests an MCP server may send to its client: ping, roots and elicitation.

Nothing else is offered: a server gets no model and no file by asking. A question is put only while one of the
server's own tools is called, so that the person knows what it is about, and the call waits as long as they do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.processes.tasks import silence_failure
from portico.rpc.messages import INVALID_PARAMS, METHOD_NOT_FOUND, ConnectionLost, RpcError

AskPerson = Callable[[str, schema.ElicitationSchema], Awaitable[schema.CreateElicitationResponse]]
"""Shows the person a form, with the words above it."""


class _Wanted(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    message: str
    mode: str = "form"
    requested_schema: schema.ElicitationSchema = schema.ElicitationSchema()


class _Call(msgspec.Struct, frozen=True, eq=False):
    """A call that is under way, the person it is made for, when it is given up, and its open questions."""

    ask: AskPerson
    deadline: asyncio.Timeout
    seconds: float
    questions: set[asyncio.Future[schema.CreateElicitationResponse]] = msgspec.field(default_factory=set)


class ServerRequests:
    def __init__(self, folders: Sequence[Path], *, can_ask: bool) -> None:
        self._folders = tuple(folders)
        self._can_ask = can_ask
        self._calls: list[_Call] = []

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the client announces."""
        return {"roots": {}, **({"elicitation": {"form": {}}} if self._can_ask else {})}

    @contextmanager
    def calling(self, ask: AskPerson, deadline: asyncio.Timeout, seconds: float) -> Iterator[None]:
        """A tool is called: what the server asks meanwhile goes to whom `ask` reaches. No question outlives it."""
        call = _Call(ask, deadline, seconds)
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
            for question in call.questions:
                question.cancel()

    async def answer(self, method: str, params: Raw) -> Any:
        """The result of a request. RpcError for what is not offered or makes no sense."""
        match method:
            case "ping":
                return {}
            case "roots/list":
                return {"roots": [{"uri": path.as_uri(), "name": path.name} for path in self._folders]}
            case "elicitation/create" if self._can_ask:
                return await self._elicit(_wanted(params))
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"{method} is not offered here")

    async def _elicit(self, wanted: _Wanted) -> Any:
        if not self._calls:
            return schema.CreateElicitationResponse(action="cancel")
        # The server does not say which call it asks for; the newest is the likeliest.
        call = self._calls[-1]
        question = silence_failure(asyncio.ensure_future(call.ask(wanted.message, wanted.requested_schema)))
        call.questions.add(question)
        _put_off(call, None)
        try:
            await asyncio.wait({question})
        finally:
            question.cancel()
            call.questions.discard(question)
            if call in self._calls and not call.questions:
                _put_off(call, asyncio.get_running_loop().time() + call.seconds)
        if question.cancelled() or isinstance(question.exception(), ConnectionLost):
            return schema.CreateElicitationResponse(action="cancel")
        return _with_defaults(question.result(), wanted.requested_schema)


def _put_off(call: _Call, when: float | None) -> None:
    if not call.deadline.expired():
        call.deadline.reschedule(when)


def _wanted(params: Raw) -> _Wanted:
    try:
        wanted = codecs.decode_json(params, _Wanted)
    except msgspec.DecodeError as error:
        raise RpcError(INVALID_PARAMS, f"the question is invalid: {error}") from error
    if wanted.mode != "form":
        raise RpcError(INVALID_PARAMS, "only forms can be shown here")
    return wanted


def _with_defaults(
    reply: schema.CreateElicitationResponse, form: schema.ElicitationSchema
) -> schema.CreateElicitationResponse:
    """The defaults of a form, which count for the fields that the person leaves unchanged."""
    if reply.action != "accept":
        return reply
    defaults = {name: one.default for name, one in form.properties.items() if one.default is not None}
    return msgspec.structs.replace(reply, content={**defaults, **(reply.content or {})})
