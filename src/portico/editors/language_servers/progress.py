"""Progress that a server reports, such as indexing."""

import asyncio
from contextlib import suppress

import msgspec

from portico.domain import codecs
from portico.editors.language_servers.wire import ProgressParams, ProgressValue

SETTLE_SECONDS = 10.0


class ServerProgress:
    """Tracks work by its token."""

    def __init__(self) -> None:
        self._active: dict[int | str, ProgressValue] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._waited = False

    def take(self, params: ProgressParams) -> None:
        try:
            value = codecs.decode_json(params.value, ProgressValue)
        except msgspec.DecodeError:
            return
        if value.kind == "end":
            self._active.pop(params.token, None)
        elif value.kind == "begin":
            self._active[params.token] = value
        elif value.kind == "report" and (begun := self._active.get(params.token)) is not None:
            self._active[params.token] = ProgressValue(
                kind="report",
                title=begun.title,
                message=value.message or begun.message,
                percentage=begun.percentage if value.percentage is None else value.percentage,
            )
        if self._active:
            self._idle.clear()
        else:
            self._idle.set()
            self._waited = False

    async def settle(self) -> bool:
        """Wait for work to end, for some seconds and once only for each spell of it; whether it has ended."""
        if self._active and not self._waited:
            self._waited = True
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_SECONDS):
                    await self._idle.wait()
        return not self._active

    def describe(self) -> str | None:
        """Current work, such as "indexing, 40 %"; None if there is none."""
        if not self._active:
            return None
        value = next(iter(self._active.values()))
        title = (value.title or value.message or "indexing").strip()
        what = title[:1].lower() + title[1:80]
        return what if value.percentage is None else f"{what}, {value.percentage:.0f} %"
