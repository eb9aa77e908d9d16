"""Translates `elicitation/create` into a question event, and the answer back.

A question of an unknown mode, or with a required field of an unknown type, is declined.
"""

import re
from collections.abc import Iterator
from typing import NoReturn
from urllib.parse import urlsplit

from portico.acp import _schema as acp
from portico.domain.events import Notice, QuestionAnswered, QuestionAsked
from portico.domain.values import FieldType, OptionChoice, QuestionField, QuestionValue
from portico.rpc.messages import INVALID_PARAMS, RpcError
from portico.sessions.content.translation import as_raw
from portico.sessions.requests.questions import QuestionAnswer

_SECRET_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|token\b|api.?key|private.?key|credential", re.IGNORECASE
)


def question_asked(request_id: str, request: acp.CreateElicitationRequest) -> QuestionAsked | None:
    """The question, or None if it is not supported. RpcError if it is invalid."""
    match request.mode:
        case "form":
            schema = request.requested_schema or _needed("requestedSchema")
            fields = _fields(schema)
            if fields is None:
                return None
            return QuestionAsked(
                request_id=request_id,
                message=request.message,
                mode="form",
                title=schema.title,
                description=schema.description,
                fields=fields,
                tool_id=request.tool_call_id,
            )
        case "url":
            return QuestionAsked(
                request_id=request_id,
                message=request.message,
                mode="url",
                url=_page(request.url or _needed("url")),
                elicitation_id=request.elicitation_id or _needed("elicitationId"),
                tool_id=request.tool_call_id,
            )
        case _:
            return None


def declined_notice(request: acp.CreateElicitationRequest) -> Notice:
    """Notice about a declined question."""
    text = f"Declined a question of an unsupported kind: {request.message}"
    return Notice(level="warning", text=text, source="agent", raw=as_raw(request))


def question_answered(question: QuestionAsked, reply: QuestionAnswer) -> QuestionAnswered:
    """The answer for the log, without secrets."""
    secret = {field.name for field in question.fields if field.secret}
    return QuestionAnswered(
        request_id=question.request_id,
        action=reply.action,
        by=reply.by,
        content={name: value for name, value in reply.content.items() if name not in secret},
        withheld=tuple(name for name in reply.content if name in secret),
        person=reply.person,
    )


def answer_to_agent(question: QuestionAsked, reply: QuestionAnswer) -> acp.CreateElicitationResponse:
    if reply.action != "accept" or question.mode == "url":
        return acp.CreateElicitationResponse(action=reply.action)
    return acp.CreateElicitationResponse(
        action="accept", content={name: _sent(value) for name, value in reply.content.items()}
    )


def _fields(schema: acp.ElicitationSchema) -> tuple[QuestionField, ...] | None:
    """The fields of a form, without optional ones of unknown type."""
    required = set(schema.required or ())
    found: list[QuestionField] = []
    for name, field in schema.properties.items():
        known = _field(name, field, required=name in required)
        if known is not None:
            found.append(known)
        elif name in required:
            return None
    return tuple(found)


def _field(name: str, field: acp.ElicitationPropertySchema, *, required: bool) -> QuestionField | None:
    choices = tuple(_choices(field))
    kind: FieldType
    low: int | float | None
    high: int | float | None
    match field.type:
        case "string" if choices:
            kind, low, high = "choice", None, None
        case "array" if choices:
            kind, low, high = "choices", field.min_items, field.max_items
        case "string":
            kind, low, high = "string", field.min_length, field.max_length
        case "number" | "integer" | "boolean" as kind:
            low, high = field.minimum, field.maximum
        case _:
            return None
    secret = _is_secret(name, field)
    default = tuple(field.default) if isinstance(field.default, list) else field.default
    return QuestionField(
        name=name,
        type=kind,
        title=field.title,
        description=field.description,
        required=required,
        default=None if secret else default,
        choices=choices,
        format=field.format,
        pattern=field.pattern,
        minimum=low,
        maximum=high,
        secret=secret,
    )


def _choices(field: acp.ElicitationPropertySchema) -> Iterator[OptionChoice]:
    """Titled choices, else plain ones; those of a list are in its items."""
    items = field.items or acp.MultiSelectItems()
    titled = items.any_of if field.type == "array" else field.one_of
    plain = items.enum if field.type == "array" else field.enum
    if titled is not None:
        yield from (
            OptionChoice(value=one.const, name=one.title, description=one.description) for one in titled
        )
    else:
        yield from (OptionChoice(value=value, name=value) for value in plain or ())


def _is_secret(name: str, field: acp.ElicitationPropertySchema) -> bool:
    """Whether an answer is a secret, because the agent says so or by its name."""
    if field.type != "string":
        return False
    marked = field.format == "password" or bool((field.meta or {}).get("secret"))
    return marked or any(_SECRET_NAME.search(words) for words in (name, field.title or ""))


def _page(url: str) -> str:
    """An http or https URL. RpcError for any other."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"elicitation/create: {url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise RpcError(INVALID_PARAMS, f"elicitation/create: {url!r} is not an http or https URL")
    return url


def _needed(name: str) -> NoReturn:
    raise RpcError(INVALID_PARAMS, f"elicitation/create needs {name}")


def _sent(value: QuestionValue) -> acp.ElicitationContentValue:
    return list(value) if isinstance(value, tuple) else value
