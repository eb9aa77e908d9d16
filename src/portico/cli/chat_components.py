"""The chat command `/components`: shows the components of the session, and switches one of them."""

from portico.client.client_session import ClientSession
from portico.domain.errors import InvalidInput
from portico.doors.terminal.render.component_list import component_lines

COMMAND = "/components"
_SWITCHES = {"on": True, "off": False}


async def run_components(words: str, conversation: ClientSession) -> list[str]:
    """Run the command; returns the lines to print."""
    name, _, value = words.replace("=", " ", 1).strip().partition(" ")
    if not name:
        return component_lines(await conversation.components())
    if (on := _SWITCHES.get(value.strip())) is None:
        raise InvalidInput(f"{COMMAND} {name} needs on or off.", suggestion=f"Example: {COMMAND} {name} off")
    await conversation.switch_component(name, on=on)
    lines = component_lines(one for one in await conversation.components() if one.name == name)
    return [*lines, "The agent has it from the next prompt on." if on else "The next prompt is without it."]
