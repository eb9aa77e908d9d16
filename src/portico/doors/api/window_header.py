"""The settings of the calling window, for as long as a call of it is handled."""

from contextvars import ContextVar

from portico.config.window_settings import WINDOW_HEADER
from portico.doors.http.asgi import ASGIApp, HttpRequest, Receive, Scope, Send

_HEADER: ContextVar[str] = ContextVar("settings of the calling window", default="")


def window_header() -> str:
    """Return the header of the call in progress, with the settings of its window; empty without a window."""
    return _HEADER.get()


def with_window_header(app: ASGIApp) -> ASGIApp:
    """Return an application whose calls, and the tasks that they start, know the settings of their window."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        token = _HEADER.set(HttpRequest(scope).header(WINDOW_HEADER) or "")
        try:
            await app(scope, receive, send)
        finally:
            _HEADER.reset(token)

    return answer
