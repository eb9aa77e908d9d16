"""Parser of typed text into the value of a question field, and the hint beside the field.

A choice is given by number, value or name. An empty line takes the default or skips an optional field;
a single dash skips a field that has a default.
"""

from portico.domain.values import OptionChoice, QuestionField, QuestionValue
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.requests.field_validation import label_of, problem_with

SKIP = "-"
_YES = ("y", "yes", "true", "on")
_NO = ("n", "no", "false", "off")


def parse_field_value(field: QuestionField, typed: str) -> QuestionValue | None:
    """The value; None skips the field. Raises ValueError with a message for the person."""
    words = typed if field.secret else typed.strip()
    if not words:
        if field.default is None and field.required:
            raise ValueError(f"{clean_line(label_of(field))} is required.")
        return field.default
    if words == SKIP and field.default is not None and not field.required:
        return None
    value = _value(field, words)
    if problem := problem_with(field, value):
        raise ValueError(clean_line(problem))
    return value


def field_prompt(field: QuestionField) -> str:
    """The prompt of a field: its name, what is allowed, and what an empty line means."""
    hints = [_allowed(field)]
    if field.default is not None:
        hints.append(f"Enter: {_shown(field, field.default)}")
        hints += [] if field.required else [f"{SKIP}: skip"]
    elif not field.required:
        hints.append("Enter: skip")
    words = ", ".join(filter(None, hints))
    return f"{clean_line(label_of(field))} ({words}): " if words else f"{clean_line(label_of(field))}: "


def choice_lines(field: QuestionField) -> list[str]:
    """The choices with their numbers."""
    return [
        f"{number}  {clean_line(choice.name)}"
        + (f"  {clean_line(choice.description)}" if choice.description else "")
        for number, choice in enumerate(field.choices, start=1)
    ]


def _allowed(field: QuestionField) -> str:
    low, high = field.minimum, field.maximum
    span = f"{low:g} to {high:g}" if low is not None and high is not None else ""
    if not span and (low is not None or high is not None):
        span = f"at least {low:g}" if low is not None else f"at most {high:g}"
    match field.type:
        case "boolean":
            return "y/n"
        case "choice":
            return "a number"
        case "choices":
            return f"comma-separated numbers{f', {span}' if span else ''}"
        case "string":
            return ", ".join(
                filter(None, (clean_line(field.format or ""), f"{span} characters" if span else ""))
            )
        case _:
            return span


def _value(field: QuestionField, words: str) -> QuestionValue:
    match field.type:
        case "boolean":
            folded = words.lower()
            return folded in _YES if folded in _YES + _NO else words
        case "integer" | "number":
            return _number(words)
        case "choice":
            return _chosen(field.choices, words)
        case "choices":
            parts = (
                words.split(",") if "," in words or not words.replace(" ", "").isdecimal() else words.split()
            )
            return tuple(_chosen(field.choices, part.strip()) for part in parts if part.strip())
        case _:
            return words


def _number(words: str) -> QuestionValue:
    for read in (int, float):
        try:
            return read(words)
        except ValueError:
            continue
    return words


def _chosen(choices: tuple[OptionChoice, ...], words: str) -> str:
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1].value
    folded = words.casefold()
    alike = (one.value for one in choices if folded in (one.value.casefold(), one.name.casefold()))
    return next(alike, words)


def _shown(field: QuestionField, value: QuestionValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    names = {choice.value: choice.name for choice in field.choices}
    values = value if isinstance(value, tuple) else (value,)
    return clean_line(", ".join(names.get(str(one), str(one)) for one in values))
