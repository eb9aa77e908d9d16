"""The chat command `/options`: shows and sets the options of the agent."""

from portico.client.client_session import ClientSession
from portico.domain.errors import InvalidInput
from portico.domain.events import ConfigUpdated
from portico.domain.ids import SessionId
from portico.domain.values import ConfigOption
from portico.doors.terminal.render.option_list import option_lines
from portico.sessions.ports import Store

COMMAND = "/options"


async def run_options(
    words: str, conversation: ClientSession, store: Store, session_id: SessionId
) -> list[str]:
    """Run the command; returns the lines to print."""
    name, _, value = words.replace("=", " ", 1).strip().partition(" ")
    if name and not value.strip():
        raise InvalidInput(f"{COMMAND} {name} needs a value.", suggestion=f"Example: {COMMAND} mode plan")
    if name:
        await conversation.set_option(name, value.strip())
    else:
        await conversation.connect()
    return option_lines(await _current(store, session_id)) or ["The agent has no options."]


async def _current(store: Store, session_id: SessionId) -> tuple[ConfigOption, ...]:
    found = [event.payload for event in await store.standing(session_id)]
    return next((payload.options for payload in found if isinstance(payload, ConfigUpdated)), ())
