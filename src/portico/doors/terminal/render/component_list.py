"""List of components with their state, what they do and the reason."""

from collections.abc import Iterable

from portico.domain.components import ComponentStatus
from portico.doors.terminal.sanitizer import clean_line

_MARKS = {"on": "●", "idle": "◌", "off": "○", "failed": "✗"}


def component_lines(components: Iterable[ComponentStatus]) -> list[str]:
    """Each component on a line."""
    listed = list(components)
    width = max((len(one.name) for one in listed), default=0)
    return [_line(one, width) for one in listed]


def _line(one: ComponentStatus, width: int) -> str:
    words = " ".join(filter(None, (clean_line(one.summary), f"({clean_line(one.reason)})")))
    return f"{_MARKS[one.state]} {clean_line(one.name):<{width}}  {one.state:<6}  {words}"
