"""Interceptor that turns Portico errors into Connect errors with a code and details."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext

from portico.domain.errors import DeveloperMustAct, ErrorCode, PorticoError
from portico.doors.api.event_messages import to_error_details

log = logging.getLogger(__name__)

Request = TypeVar("Request")
Response = TypeVar("Response")
Context = RequestContext[Any, Any]

_CODES = {
    ErrorCode.AGENT_NOT_FOUND: Code.FAILED_PRECONDITION,
    ErrorCode.AGENT_CRASHED: Code.UNAVAILABLE,
    ErrorCode.AUTH_REQUIRED: Code.FAILED_PRECONDITION,
    ErrorCode.NETWORK_TIMEOUT: Code.DEADLINE_EXCEEDED,
    ErrorCode.CONTEXT_LIMIT: Code.RESOURCE_EXHAUSTED,
    ErrorCode.MALFORMED_EVENT: Code.DATA_LOSS,
    ErrorCode.SESSION_NOT_FOUND: Code.NOT_FOUND,
    ErrorCode.SESSION_BUSY: Code.ABORTED,
    ErrorCode.BUDGET_EXCEEDED: Code.RESOURCE_EXHAUSTED,
    ErrorCode.PERMISSION_DENIED: Code.PERMISSION_DENIED,
    ErrorCode.INVALID_INPUT: Code.INVALID_ARGUMENT,
    ErrorCode.INTERNAL: Code.INTERNAL,
}


class ErrorInterceptor:
    """Turns Portico errors into Connect errors, and logs all others."""

    async def intercept_unary(
        self, call_next: Callable[[Request, Context], Awaitable[Response]], request: Request, ctx: Context
    ) -> Response:
        try:
            return await call_next(request, ctx)
        except ConnectError:
            raise
        except Exception as error:
            raise _answer(error) from error

    async def intercept_server_stream(
        self,
        call_next: Callable[[Request, Context], AsyncIterator[Response]],
        request: Request,
        ctx: Context,
    ) -> AsyncIterator[Response]:
        try:
            async for response in call_next(request, ctx):
                yield response
        except ConnectError:
            raise
        except Exception as error:
            raise _answer(error) from error


def _answer(error: Exception) -> ConnectError:
    if isinstance(error, PorticoError):
        return to_connect_error(error)
    log.error("unexpected error in a call", exc_info=error)
    return to_connect_error(
        DeveloperMustAct(
            "Internal error.", suggestion="See the server's log; its path is shown by: portico status"
        )
    )


def to_connect_error(error: PorticoError) -> ConnectError:
    details = to_error_details(error.code, error.details, recoverable=error.recoverable)
    return ConnectError(_CODES[error.code], error.message, [details])
