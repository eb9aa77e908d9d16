"""Client of AgentService: calls to the user's server, with its errors raised as Portico errors."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn, assert_never
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec
from connectrpc.errors import ConnectError
from msgspec import Raw
from pyqwest import Client, HTTPTransport, Proxy

from portico.acp import _schema as acp
from portico.api.fields import one_of, to_enum
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.api.v1.agent_client import AgentServiceClient
from portico.domain import codecs, errors
from portico.domain.content_blocks import block_source, file_name_of
from portico.domain.errors import (
    MODEL_FAILURES,
    ErrorCode,
    ErrorDetails,
    InvalidInput,
    PorticoError,
    ServerLost,
)
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.sessions.content.mentions import links_in
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.turn import TurnPrompt


class _AttachmentSource(msgspec.Struct, frozen=True):
    """Where a block comes from, what it is, and its bytes if it has them with it."""

    uri: str
    mime_type: str
    content: bytes | None


def to_attachments(prompt: TurnPrompt, workspace: Path) -> list[pb.Attachment]:
    """Everything but the links to files that the words mention: those the server finds by itself."""
    linked = {bytes(one) for one in links_in(prompt.text, workspace)} if prompt.blocks else set()
    return [_attachment(block, workspace) for block in prompt.blocks if bytes(block) not in linked]


def _attachment(raw: Raw, workspace: Path) -> pb.Attachment:
    """A file of the session's folder by its path, anything else by its bytes."""
    source = _source(codecs.decode_json(raw, acp.ContentBlock))
    path = _path(source.uri)
    if path is not None and path.is_relative_to(workspace):
        place = one_of("path", path.relative_to(workspace).as_posix())
    else:
        place = one_of("data", _read(source.uri, path) if source.content is None else source.content)
    return pb.Attachment(name=file_name_of(source.uri), mime_type=source.mime_type, source=place)


def _source(block: acp.ContentBlock) -> _AttachmentSource:
    match block:
        case acp.ImageContent(uri=uri, mime_type=kind, data=data):
            return _AttachmentSource(uri or "", kind, base64.b64decode(data))
        case acp.AudioContent(mime_type=kind, data=data, meta=meta):
            return _AttachmentSource(block_source(meta) or "", kind, base64.b64decode(data))
        case acp.EmbeddedResource(resource=resource):
            text, blob = resource.text, resource.blob or ""
            content = base64.b64decode(blob) if text is None else text.encode()
            return _AttachmentSource(resource.uri, resource.mime_type or "", content)
        case acp.ResourceLink(uri=uri, mime_type=kind):
            return _AttachmentSource(uri, kind or "", None)
        case acp.TextContent(text=text):
            return _AttachmentSource("", "text/plain", text.encode())
    assert_never(block)


def _path(uri: str) -> Path | None:
    return Path(url2pathname(urlsplit(uri).path)) if uri.startswith("file:") else None


def _read(uri: str, path: Path | None) -> bytes:
    if path is None:
        raise InvalidInput(f"{uri} is no file, so it cannot be sent to the server.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be attached: {error.strerror}.") from error


_LOOPBACK = "127.0.0.1"
# The library goes through whatever proxy the environment names, unless it is given one of its own.
_NO_PROXY = Proxy(f"http://{_LOOPBACK}", no_proxy=_LOOPBACK)
_KINDS: dict[ErrorCode, type[PorticoError]] = {
    kind.code: kind
    for kind in (
        errors.InvalidInput,
        errors.SessionNotFound,
        errors.SessionBusy,
        errors.PermissionDenied,
        errors.BudgetExceeded,
        errors.AuthRequired,
        errors.AgentNotFound,
        errors.AgentCrashed,
        errors.AgentTimedOut,
        errors.MalformedEvent,
        errors.ContextLimit,
        errors.DeveloperMustAct,
    )
}


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is that has proved to be the user's own."""

    url: str
    token: str


class ServerCalls:
    """Each call goes to the address that is found for it. ServerLost when there is none, or it breaks off."""

    def __init__(self, find: Callable[[], Awaitable[ServerAddress]]) -> None:
        self._find = find

    async def is_elsewhere(self, session_id: SessionId) -> bool:
        """Whether a process that is not the server has the session open."""
        async with self.client() as (client, headers):
            found = await client.get_session(pb.GetSessionRequest(session_id=session_id), headers=headers)
        return found.session is not None and found.session.open_elsewhere

    async def invoke(self, session: SessionSummary, prompt: TurnPrompt, heard: Callable[[int], None]) -> None:
        """Send a prompt and stay until its turn is over; the seq of each of its events, as it comes."""
        # Here as well: what is far too long does not even get into a call, where the server could say so.
        prompt.require_content()
        workspace = Path(session.workspace)
        attachments = await asyncio.to_thread(to_attachments, prompt, workspace)
        async with self.client() as (client, headers):
            for name, value in prompt.options.items():
                await client.set_session_config(_option(session.session_id, name, value), headers=headers)
            request = pb.InvokeRequest(
                session_id=session.session_id,
                text=prompt.text,
                attachments=attachments,
                when_busy=pb.WhenBusy.REFUSE,
            )
            async for said in client.invoke(request, headers=headers):
                update: Any = said.update
                if update is not None and update.field == "event":
                    heard(update.value.seq)

    async def watch(self, session_id: SessionId, after_seq: int, heard: Callable[[], None]) -> None:
        """Stay with a session; told of whatever happens in it, until the server ends."""
        request = pb.WatchRequest(session_id=session_id, after_seq=after_seq)
        async with self.client() as (client, headers):
            async for _ in client.watch(request, headers=headers):
                heard()

    async def stop_turn(self, session_id: SessionId, *, force: bool) -> None:
        async with self.client() as (client, headers):
            await client.stop_turn(pb.StopTurnRequest(session_id=session_id, force=force), headers=headers)

    async def answer(self, session_id: SessionId, request_id: str, decision: PermissionReply) -> None:
        said = pb.PermissionDecision(
            request_id=request_id,
            option_id=decision.option_id or "",
            scope=events_pb.PermissionScope[decision.scope.upper()],
        )
        await self._submit(session_id, "permission_decisions", pb.PermissionDecisions(decisions=[said]))

    async def reply(self, session_id: SessionId, request_id: str, reply: QuestionAnswer) -> None:
        said = pb.QuestionReply(
            request_id=request_id,
            action=events_pb.QuestionAction[reply.action.upper()],
            content_json=msgspec.json.encode(reply.content).decode(),
        )
        await self._submit(session_id, "question_reply", said)

    async def set_option(self, session_id: SessionId, name: str, value: str | bool) -> None:
        async with self.client() as (client, headers):
            await client.set_session_config(_option(session_id, name, value), headers=headers)

    async def set_mode(self, session_id: SessionId, mode: ReviewMode) -> None:
        request = pb.SetReviewModeRequest(session_id=session_id, mode=to_enum(pb.ReviewMode, mode))
        async with self.client() as (client, headers):
            await client.set_review_mode(request, headers=headers)

    async def _submit(self, session_id: SessionId, field: str, said: object) -> None:
        request = pb.SubmitClientEventRequest(session_id=session_id, event=one_of(field, said))
        async with self.client() as (client, headers):
            await client.submit_client_event(request, headers=headers)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[tuple[AgentServiceClient, dict[str, str]]]:
        """A caller of the contract and the headers of each call. Failures come out as ours."""
        address = await self._find()
        async with HTTPTransport(proxy=_NO_PROXY, follow_redirects=False, enable_otel=False) as transport:
            client = AgentServiceClient(
                address.url.rstrip("/"), http_client=Client(transport), send_compression=None
            )
            try:
                yield client, {"authorization": f"Bearer {address.token}"}
            except ConnectError as error:
                _raise_ours(error)


def _raise_ours(error: ConnectError) -> NoReturn:
    if isinstance(error.__cause__, asyncio.CancelledError):
        raise error.__cause__
    for detail in error.details:
        if (told := detail.value(events_pb.ErrorDetails)) is not None:
            details = ErrorDetails(
                suggestion=told.suggestion or None,
                agent=told.agent or None,
                stderr=told.stderr or None,
                exit_status=told.exit_status or None,
                auth_methods=tuple(told.auth_methods),
                model_failure=MODEL_FAILURES.get(told.model_failure),
            )
            raise _KINDS[ErrorCode[told.code.name]](error.message, details=details) from error
    raise ServerLost(
        f"Your server did not answer: {error.message}", suggestion="See how it is with: portico status"
    ) from error


def _option(session_id: SessionId, name: str, value: str | bool) -> pb.SetSessionConfigRequest:
    chosen = one_of("switched_on" if isinstance(value, bool) else "choice", value)
    return pb.SetSessionConfigRequest(session_id=session_id, option_id=name, value=chosen)
