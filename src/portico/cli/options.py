"""The chat's own command for the options of its agent: `/options`, `/options NAME VALUE`."""

from portico.domain.errors import InvalidInput
from portico.domain.events import ConfigOption, ConfigUpdated
from portico.domain.ids import SessionId
from portico.doors.terminal.options import option_lines
from portico.sessions.ports import Store
from portico.sessions.service import SessionService

COMMAND = "/options"


async def run_options(words: str, service: SessionService, store: Store, session_id: SessionId) -> list[str]:
    """Do what the words after the command say; the lines to be shown."""
    name, _, value = words.replace("=", " ", 1).strip().partition(" ")
    if name and not value.strip():
        raise InvalidInput(f"{COMMAND} {name} needs a value.", suggestion=f"As in: {COMMAND} mode plan")
    if name:
        await service.set_option(session_id, name, value.strip())
    else:
        await service.connect(session_id)
    return option_lines(await _current(store, session_id)) or ["The agent has no options."]


async def _current(store: Store, session_id: SessionId) -> tuple[ConfigOption, ...]:
    found = [event.payload for event in await store.standing(session_id)]
    return next((payload.options for payload in found if isinstance(payload, ConfigUpdated)), ())
