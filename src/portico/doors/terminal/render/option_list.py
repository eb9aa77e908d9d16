"""List of the agent's options with their current and possible values."""

from collections.abc import Sequence

from portico.domain.values import ConfigOption
from portico.doors.terminal.sanitizer import clean_line


def option_lines(options: Sequence[ConfigOption]) -> list[str]:
    """Each option with its value and the alternatives."""
    names = [clean_line(option.option_id) for option in options]
    width = max(map(len, names), default=0)
    return [f"{name:<{width}}  {_value(option)}" for name, option in zip(names, options, strict=True)]


def _value(option: ConfigOption) -> str:
    if isinstance(option.value, bool):
        values, current = ["on", "off"], "on" if option.value else "off"
    else:
        values, current = [choice.value for choice in option.choices], option.value
    others = [value for value in values if value != current]
    rest = f"  (or {clean_line(', '.join(others))})" if others else ""
    return f"{clean_line(current)}{rest}"
