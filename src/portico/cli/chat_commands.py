"""Names of the chat commands, and those about the agent: `/options`, `/model` and `/components`."""

from portico.client.client_session import ClientSession
from portico.domain.errors import InvalidInput
from portico.domain.events import ConfigUpdated
from portico.domain.ids import SessionId
from portico.domain.values import ConfigOption
from portico.doors.terminal.render.component_list import component_lines
from portico.doors.terminal.render.option_list import option_lines
from portico.sessions.ports import Store

OPTIONS, MODEL, COMPONENTS = "/options", "/model", "/components"
NEW, CLEAR, AGENT, RESUME, SESSIONS = "/new", "/clear", "/agent", "/resume", "/sessions"
COMPACT, HAND_OFF, PROPOSAL, TOUR = "/compact", "/handoff", "/proposal", "/tour"
MODEL_CATEGORY = "model"
_SWITCHES = {"on": True, "off": False}


async def run_options(
    words: str, conversation: ClientSession, store: Store, session_id: SessionId
) -> list[str]:
    """Show the options of the agent, or set one; returns the lines to print."""
    name, value = _split(words)
    if name and not value:
        raise InvalidInput(f"{OPTIONS} {name} needs a value.", suggestion=f"Example: {OPTIONS} mode plan")
    if name:
        await conversation.set_option(name, value)
    else:
        await conversation.connect()
    return option_lines(await _current(store, session_id)) or ["The agent has no options."]


async def run_model(name: str, conversation: ClientSession, store: Store, session_id: SessionId) -> list[str]:
    """Show the models of the agent, or choose one; returns the lines to print."""
    await conversation.connect()
    if not any(option.category == MODEL_CATEGORY for option in await _current(store, session_id)):
        raise InvalidInput(
            "The agent offers no choice of model.", suggestion="It may have a setting of its own."
        )
    if name:
        await conversation.set_option(MODEL_CATEGORY, name)
    options = [one for one in await _current(store, session_id) if one.category == MODEL_CATEGORY]
    takes_any = any(option.open for option in options)
    more = [f"Any other: {MODEL} NAME. See them with: portico models list"] if takes_any else []
    return [*option_lines(options), *more]


async def run_components(words: str, conversation: ClientSession) -> list[str]:
    """Show the components of the session, or switch one; returns the lines to print."""
    name, value = _split(words)
    if not name:
        return component_lines(await conversation.components())
    if (on := _SWITCHES.get(value)) is None:
        example = f"Example: {COMPONENTS} {name} off"
        raise InvalidInput(f"{COMPONENTS} {name} needs on or off.", suggestion=example)
    await conversation.switch_component(name, on=on)
    lines = component_lines(one for one in await conversation.components() if one.name == name)
    return [*lines, "The agent has it from the next prompt on." if on else "The next prompt is without it."]


def _split(words: str) -> tuple[str, str]:
    """Name and value of `NAME VALUE` or `NAME=VALUE`; each may be empty."""
    name, _, value = words.replace("=", " ", 1).strip().partition(" ")
    return name, value.strip()


async def _current(store: Store, session_id: SessionId) -> tuple[ConfigOption, ...]:
    found = [event.payload for event in await store.standing(session_id)]
    return next((payload.options for payload in found if isinstance(payload, ConfigUpdated)), ())
