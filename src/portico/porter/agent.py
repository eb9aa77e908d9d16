"""Porter as an ACP agent: announces its capabilities and passes requests on to its sessions.

The session code is imported by the first request that needs it, so that `initialize` is answered at once.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from portico import __version__
from portico.acp import _schema as schema
from portico.acp.agent import AgentSideConnection
from portico.acp.connection import AUTH_REQUIRED, PROTOCOL_VERSION, MethodHandler
from portico.acp.extension_handlers import ExtensionHandlers
from portico.acp.extensions import TODOS, VERSION, AgentExtensions, FailureMeta, WrittenTodos, to_meta
from portico.acp.lenient_decoder import decode
from portico.domain.errors import AuthRequired, PorticoError
from portico.porter.setup import SetupReader, empty_setup
from portico.rpc.frames import Tap, Transport
from portico.rpc.messages import INTERNAL_ERROR, ConnectionLost, RpcError

if TYPE_CHECKING:
    from portico.porter.session_methods import SessionMethods

_CAPABILITIES = schema.AgentCapabilities(
    load_session=True,
    prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
    mcp_capabilities=schema.McpCapabilities(http=True),
    session_capabilities=schema.SessionCapabilities(
        list=schema.SessionListCapabilities(),
        delete=schema.SessionDeleteCapabilities(),
        additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
        resume=schema.SessionResumeCapabilities(),
        close=schema.SessionCloseCapabilities(),
    ),
    meta=to_meta(AgentExtensions(todos=VERSION)),
)


class Porter:
    """One connection with a client. `state` is the folder of the transcripts."""

    def __init__(
        self,
        transport: Transport,
        *,
        state: Path,
        environ: Mapping[str, str],
        tap: Tap | None = None,
        setup_of: SetupReader = empty_setup,
    ) -> None:
        serve: dict[str, MethodHandler] = {
            "initialize": self._initialize,
            "session/new": self._by_sessions(lambda sessions: sessions.new),
            "session/load": self._by_sessions(lambda sessions: sessions.load),
            "session/resume": self._by_sessions(lambda sessions: sessions.resume),
            "session/list": self._by_sessions(lambda sessions: sessions.list_all),
            "session/close": self._by_sessions(lambda sessions: sessions.close),
            "session/delete": self._by_sessions(lambda sessions: sessions.delete),
            "session/prompt": self._by_sessions(lambda sessions: sessions.prompt),
            "session/set_config_option": self._by_sessions(lambda sessions: sessions.set_config_option),
            "session/set_mode": self._by_sessions(lambda sessions: sessions.set_mode),
        }
        extensions = ExtensionHandlers()
        extensions.on_notification(TODOS, self._replace_todos)
        self._end = AgentSideConnection(
            transport,
            name="client",
            serve=serve,
            on_cancel=self._cancel,
            extensions=extensions,
            tap=tap,
        )
        self._state = state
        self._environ = environ
        self._setup_of = setup_of
        self._client = schema.ClientCapabilities()

    async def run(self) -> None:
        """Serve until the client disconnects, then stop everything that still runs."""
        try:
            await self._end.run()
        finally:
            if "_sessions" in vars(self):
                await self._sessions.close_all()
            await self._end.close()

    @cached_property
    def _sessions(self) -> "SessionMethods":
        from portico.porter.session_methods import SessionMethods

        return SessionMethods(self._end, self._state, self._environ, self._client, self._setup_of)

    async def _initialize(self, request: schema.InitializeRequest) -> schema.InitializeResponse:
        self._client = request.client_capabilities
        # Porter supports one version; a client that requested another decides whether to continue.
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=_CAPABILITIES,
            agent_info=schema.Implementation(name="porter", title="Porter", version=__version__),
        )

    def _by_sessions(self, choose: Callable[["SessionMethods"], MethodHandler]) -> MethodHandler:
        """Return a handler that turns Portico's errors into error responses."""

        async def answer(request: Any) -> Any:
            try:
                return await choose(self._sessions)(request)
            except PorticoError as error:
                words = f"{error.message} {error.suggestion}" if error.suggestion else error.message
                code = AUTH_REQUIRED if isinstance(error, AuthRequired) else INTERNAL_ERROR
                failure = FailureMeta(
                    code=error.code,
                    suggestion=error.suggestion,
                    model_failure=error.details.model_failure,
                )
                raise RpcError(code, words, to_meta(failure)) from error
            except ConnectionLost as error:
                raise RpcError(INTERNAL_ERROR, "the client disconnected") from error

        return answer

    def _replace_todos(self, params: Raw) -> None:
        self._sessions.replace_todos(decode(params, WrittenTodos))

    def _cancel(self, session_id: str) -> None:
        self._sessions.cancel(session_id)
