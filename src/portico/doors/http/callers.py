"""The caller of the call in progress: who it is, and that it is over when its device is revoked."""

import asyncio
from contextvars import ContextVar

from portico.config.devices import DeviceFile
from portico.domain.people import THIS_USER, Caller
from portico.doors.http.asgi import ASGIApp, Receive, Scope, Send
from portico.processes.tasks import cancel_and_wait

_LOOK_SECONDS = 0.5

_CALLER: ContextVar[Caller] = ContextVar("caller", default=THIS_USER)


def calling() -> Caller:
    """The caller of the call in progress."""
    return _CALLER.get()


async def call_as(
    caller: Caller, devices: DeviceFile | None, app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Call an app for a caller. A call of a device breaks off when the device is revoked."""
    token = _CALLER.set(caller)
    try:
        if not caller.device_id or devices is None:
            await app(scope, receive, send)
            return
        call = asyncio.create_task(_call(app, scope, receive, send), name=f"call of {caller.name}")
        try:
            while not call.done():
                await asyncio.wait((call,), timeout=_LOOK_SECONDS)
                if not call.done() and not await asyncio.to_thread(devices.is_paired, caller.device_id):
                    return
            call.result()
        finally:
            await cancel_and_wait(call)
    finally:
        _CALLER.reset(token)


async def _call(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)
