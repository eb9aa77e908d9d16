"""Registry of handlers for extension methods and notifications, whose names begin with `_`."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from portico.domain.errors import InvalidInput

ExtensionMethod = Callable[[Raw], Awaitable[Any]]
ExtensionNotification = Callable[[Raw], None]
RESERVED_PREFIXES = ("_portico/", "_proxy/", "_mcp/")
"""Methods of the chain itself."""


class ExtensionHandlers:
    """One handler per name. Notifications are plain functions, so that their order is kept."""

    def __init__(self) -> None:
        self._methods: dict[str, ExtensionMethod] = {}
        self._notifications: dict[str, ExtensionNotification] = {}

    def on_request(self, name: str, handler: ExtensionMethod) -> None:
        """Answer requests of a method with what the handler returns, or with the RpcError that it raises."""
        self._add(self._methods, name, handler)

    def on_notification(self, name: str, handler: ExtensionNotification) -> None:
        self._add(self._notifications, name, handler)

    def method(self, name: str) -> ExtensionMethod | None:
        return self._methods.get(name)

    def notify(self, name: str, params: Raw) -> bool:
        """Pass a notification to its handler; False if it has none."""
        handler = self._notifications.get(name)
        if handler is not None:
            handler(params)
        return handler is not None

    @staticmethod
    def _add(handlers: dict[str, Any], name: str, handler: Any) -> None:
        if name in handlers:
            raise ValueError(f"{name} has a handler already.")
        handlers[check_extension_name(name)] = handler


def check_extension_name(name: str) -> str:
    """The name, if it is one of an extension. Raises InvalidInput."""
    if not name.startswith("_") or len(name) < 2:
        raise InvalidInput(
            f"{name!r} is not an extension method.",
            suggestion="Give a name that begins with an underscore, such as _vendor/method.",
        )
    return name
