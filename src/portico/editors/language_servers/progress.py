"""Work that a server reports while it goes on, such as indexing."""

import asyncio

import msgspec

from portico.domain import codecs
from portico.editors.language_servers.wire import ProgressParams, ProgressValue


class ServerProgress:
    """Tracks work by its token. `idle` is set while none is going on."""

    def __init__(self) -> None:
        self._active: dict[int | str, ProgressValue] = {}
        self.idle = asyncio.Event()
        self.idle.set()

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
            self.idle.clear()
        else:
            self.idle.set()

    def describe(self) -> str | None:
        """What is going on, as "indexing, 40 %"; None if nothing is."""
        if not self._active:
            return None
        value = next(iter(self._active.values()))
        title = (value.title or value.message or "indexing").strip()
        what = title[:1].lower() + title[1:80]
        return what if value.percentage is None else f"{what}, {value.percentage:.0f} %"
