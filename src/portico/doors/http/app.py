"""ASGI application of the server: health, page and its cookie, stop, and AgentService.

| path                          | who                             | what                                   |
|-------------------------------|---------------------------------|----------------------------------------|
| `GET /healthz`                | everyone; more with the token   | status and version; health details     |
| `POST /auth`                  | the token, a pass or a code     | the page's cookie                      |
| `POST /stop`                  | the token                       | stops the server gracefully            |
| `/acp`                        | the token                       | ACP over WebSocket or HTTP             |
| `/ahp`, `/` as WebSocket      | the token, also as `?tkn=`      | Agent Host Protocol over WebSocket     |
| `/portico.v1.AgentService/…`  | the token, or the page's cookie | the service                            |
| `GET` of anything else        | everyone                        | the page's files                       |
"""

import asyncio
import logging
import os
from functools import partial
from typing import Protocol

import msgspec

from portico.api.health import CHALLENGE_HEADER, HealthReport, ServerHealth
from portico.doors.http.admission import StreamLimit, recognise_caller
from portico.doors.http.asgi import ASGIApp, HttpRequest, HttpResponse, Receive, Scope, Send
from portico.doors.http.callers import call_as
from portico.doors.http.credentials import Credentials
from portico.doors.http.grpc_web_text import GrpcWebTextCall, is_grpc_web_text
from portico.doors.http.guard import MAX_BODY_BYTES, SERVICE_PATH, BoundedBody, RequestGuard, bearer_token
from portico.doors.http.page import PageFolder
from portico.doors.http.refusals import RequestRefused, is_plain_grpc, wrong_method
from portico.doors.http.websocket_upgrade import wants_websocket

log = logging.getLogger("portico.web")

_LONGEST_CHALLENGE = 200
_LONGEST_LOGGED_PATH = 200


class RemoteDoor(Protocol):
    """Server of another protocol over the network."""

    async def open(
        self, request: HttpRequest, scope: Scope, receive: Receive, answer: HttpResponse
    ) -> None: ...


class ServedDoors(msgspec.Struct, frozen=True, kw_only=True):
    """Interfaces of the server for programs: the service, ACP over the network, and the agent host.

    `public_url` is the address by which paired devices reach it through a proxy, if they do.
    """

    service: ASGIApp
    remote: RemoteDoor
    agent_host: RemoteDoor
    public_url: str = ""


class ServerControl(Protocol):
    """Control over the server process."""

    async def health(self) -> ServerHealth: ...

    def stop(self) -> None:
        """Start a graceful stop: calls in progress end first."""
        ...


def build_app(
    *,
    doors: ServedDoors,
    credentials: Credentials,
    page: PageFolder,
    version: str,
    closing: asyncio.Event,
    life: ServerControl,
    streams: StreamLimit | None = None,
    max_body: int = MAX_BODY_BYTES,
) -> ASGIApp:
    """The application. The doors get only admitted requests; once `closing` is set, new calls are refused."""
    guard = RequestGuard(credentials, closing, max_body, doors.public_url)
    pulse = HealthReport(status="ok", version=version)
    door = _Router(doors, streams or StreamLimit(()), credentials, guard, page, pulse, life)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request, answer = HttpRequest(scope), HttpResponse(send)
        in_grpc = is_plain_grpc(request) and _has_trailers(scope)
        try:
            guard.admit(request)
            await door.open(request, scope, receive, answer)
        except RequestRefused as refused:
            _log_refusal(request, refused)
            await refused.tell(answer, in_grpc=in_grpc)
        except Exception:
            log.exception("failed method=%s path=%r", request.method, _short(request.path))
            if not answer.started:
                failed = RequestRefused(
                    500, "internal", "Internal server error. The server's log has the details."
                )
                await failed.tell(answer, in_grpc=in_grpc)

    return app


class _Router:
    """Routes admitted requests by path."""

    def __init__(
        self,
        doors: ServedDoors,
        streams: StreamLimit,
        credentials: Credentials,
        guard: RequestGuard,
        page: PageFolder,
        pulse: HealthReport,
        life: ServerControl,
    ) -> None:
        self._service = doors.service
        self._remote = doors.remote
        self._agent_host = doors.agent_host
        self._streams = streams
        self._credentials = credentials
        self._guard = guard
        self._page = page
        self._pulse = pulse
        self._life = life

    async def open(self, request: HttpRequest, scope: Scope, receive: Receive, answer: HttpResponse) -> None:
        match request.path:
            case "/healthz":
                await self._tell_health(request, answer)
            case "/auth":
                _only(request, "POST")
                await answer.whole(204, headers=[self._guard.issue_page_cookie(request)])
            case "/stop":
                _only(request, "POST")
                self._guard.require_token(request)
                await answer.json(202, msgspec.structs.replace(self._pulse, status="stopping"))
                self._life.stop()
            case "/acp":
                self._guard.require_token(request)
                recognise_caller(scope)
                await self._remote.open(request, scope, receive, answer)
            case path if path == "/ahp" or (path == "/" and wants_websocket(request)):
                self._guard.require_token_or_query(request, scope)
                recognise_caller(scope)
                await self._agent_host.open(request, scope, receive, answer)
            case path if path.startswith(SERVICE_PATH):
                caller = self._guard.require_program_or_page(request)
                recognise_caller(scope)
                self._guard.require_text(request)
                _refuse_plain_grpc(request, scope)
                in_grpc = is_plain_grpc(request)
                body = BoundedBody(receive, answer, self._guard.max_body, in_grpc=in_grpc)
                with self._streams.counted(path):
                    service = partial(call_as, caller, self._credentials.devices, self._service)
                    if is_grpc_web_text(request):
                        call = GrpcWebTextCall(scope, body.receive, body.send)
                        await service(call.scope, call.receive, call.send)
                    else:
                        await service(scope, body.receive, body.send)
            case _:
                await self._show(request, answer)

    async def _tell_health(self, request: HttpRequest, answer: HttpResponse) -> None:
        _only(request, "GET", "HEAD")
        pulse = self._pulse
        challenge = request.header(CHALLENGE_HEADER)
        if challenge is not None and len(challenge) <= _LONGEST_CHALLENGE:
            proof = self._credentials.proof(challenge, os.getpid())
            pulse = msgspec.structs.replace(pulse, proof=proof)
        if bearer_token(request) is not None:
            self._guard.require_token(request)
            pulse = msgspec.structs.replace(pulse, health=await self._life.health())
        await answer.json(200, pulse)

    async def _show(self, request: HttpRequest, answer: HttpResponse) -> None:
        _only(request, "GET", "HEAD")
        file = await asyncio.to_thread(self._page.load, request.path)
        if file is None:
            raise RequestRefused(404, "not_found", "Not found.")
        await answer.whole(file.status, file.body, content_type=file.content_type, headers=file.headers)


def _only(request: HttpRequest, *methods: str) -> None:
    if request.method not in methods:
        raise wrong_method(*methods)


def _refuse_plain_grpc(request: HttpRequest, scope: Scope) -> None:
    """Refuse gRPC over HTTP/1.1, which has no trailers here."""
    if is_plain_grpc(request) and not _has_trailers(scope):
        raise RequestRefused(415, "unimplemented", "gRPC requires HTTP/2. Use HTTP/2, Connect or gRPC-Web.")


def _has_trailers(scope: Scope) -> bool:
    return "http.response.trailers" in scope.get("extensions", {})


def _log_refusal(request: HttpRequest, refused: RequestRefused) -> None:
    log.warning(
        "refused status=%d method=%s path=%r reason=%r",
        refused.status,
        request.method,
        _short(request.path),
        refused.refusal.message,
    )


def _short(path: str) -> str:
    return path[:_LONGEST_LOGGED_PATH]
