"""Validation of the answers to a question's fields, with a message per field.

Every message is a sentence that names the field.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from math import isfinite
from urllib.parse import urlsplit

from portico.domain.errors import InvalidInput
from portico.domain.values import QuestionField, QuestionValue

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")


def label_of(field: QuestionField) -> str:
    return field.title or field.name


def check_answers(fields: tuple[QuestionField, ...], content: Mapping[str, QuestionValue]) -> None:
    """InvalidInput for the first answer that is invalid, missing or unexpected."""
    for field in fields:
        if field.name in content:
            problem = problem_with(field, content[field.name])
        else:
            problem = f"{label_of(field)} is required." if field.required else None
        if problem is not None:
            raise InvalidInput(problem)
    names = [field.name for field in fields]
    for name in content:
        if name not in names:
            asked = f"it asks for {', '.join(names)}" if names else "it asks for nothing"
            raise InvalidInput(f"The question has no field {name!r}; {asked}.")


def problem_with(field: QuestionField, value: QuestionValue) -> str | None:
    """The problem with an answer, or None."""
    label = label_of(field)
    match field.type:
        case "boolean":
            return None if isinstance(value, bool) else f"{label} must be yes or no."
        case "number" | "integer":
            return _problem_with_number(field, label, value)
        case "choice":
            return None if _offered(field, value) else f"{label} must be one of {_names(field)}."
        case "choices":
            return _problem_with_choices(field, label, value)
        case _:
            return _problem_with_text(field, label, value)


def _problem_with_number(field: QuestionField, label: str, value: QuestionValue) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return f"{label} must be a number."
    if field.type == "integer" and not isinstance(value, int):
        return f"{label} must be a whole number."
    return f"{label} must be {_range(field)}." if _outside(field, value) else None


def _problem_with_choices(field: QuestionField, label: str, value: QuestionValue) -> str | None:
    if not isinstance(value, tuple) or not all(_offered(field, one) for one in value):
        return f"{label} must be some of {_names(field)}."
    if len(set(value)) != len(value):
        return f"{label} accepts each choice once."
    return f"{label} needs {_range(field)} of the choices." if _outside(field, len(value)) else None


def _problem_with_text(field: QuestionField, label: str, value: QuestionValue) -> str | None:
    if not isinstance(value, str):
        return f"{label} must be text."
    if field.required and not value:
        return f"{label} is required."
    if _outside(field, len(value)):
        return f"{label} must have {_range(field)} characters."
    described = _FORMATS.get(field.format or "")
    if described is not None and not described[0](value):
        return f"{label} must be {described[1]}."
    return f"{label} does not match {field.pattern}" if _off_pattern(field, value) else None


def _off_pattern(field: QuestionField, value: str) -> bool:
    try:
        return field.pattern is not None and re.search(field.pattern, value) is None
    except re.error:  # not a Python expression: the agent checks it itself
        return False


def _offered(field: QuestionField, value: QuestionValue) -> bool:
    return any(choice.value == value for choice in field.choices)


def _names(field: QuestionField) -> str:
    return ", ".join(choice.value for choice in field.choices)


def _outside(field: QuestionField, value: float) -> bool:
    low, high = field.minimum, field.maximum
    return (low is not None and value < low) or (high is not None and value > high)


def _range(field: QuestionField) -> str:
    low, high = field.minimum, field.maximum
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}"


def _is_uri(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", value)


def _is_date(value: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value)) and _parses(date.fromisoformat, value)


def _is_moment(value: str) -> bool:
    return "T" in value.upper() and _parses(_with_zone, value)


def _with_zone(value: str) -> None:
    if datetime.fromisoformat(value).tzinfo is None:
        raise ValueError("missing time zone")


def _parses(parse: Callable[[str], object], value: str) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True


_FORMATS: dict[str, tuple[Callable[[str], bool], str]] = {
    "email": (lambda value: bool(_EMAIL.fullmatch(value)), "an e-mail address"),
    "uri": (_is_uri, "a URL such as https://example.org"),
    "date": (_is_date, "a date such as 2026-05-09"),
    "date-time": (_is_moment, "a date and time such as 2026-05-09T14:30:00Z"),
}
