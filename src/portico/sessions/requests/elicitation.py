"""Translates `elicitation/create` into a question event, and the answer back.

What this version cannot ask faithfully is not asked at all: a mode it does not know, a field that
must be filled in and is of an unknown type.
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
    """The question, or None if this version does not know how to ask it. RpcError if it makes no sense."""
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
    """Says that a question was declined because nobody could have understood it."""
    text = f"The agent asked in a way that this version does not know, and was declined: {request.message}"
    return Notice(level="warning", text=text, source="agent", raw=as_raw(request))


def question_answered(question: QuestionAsked, reply: QuestionAnswer) -> QuestionAnswered:
    """The answer as the log may have it."""
    secret = {field.name for field in question.fields if field.secret}
    return QuestionAnswered(
        request_id=question.request_id,
        action=reply.action,
        by=reply.by,
        content={name: value for name, value in reply.content.items() if name not in secret},
        withheld=tuple(name for name in reply.content if name in secret),
    )


def answer_to_agent(question: QuestionAsked, reply: QuestionAnswer) -> acp.CreateElicitationResponse:
    if reply.action != "accept" or question.mode == "url":
        return acp.CreateElicitationResponse(action=reply.action)
    return acp.CreateElicitationResponse(
        action="accept", content={name: _sent(value) for name, value in reply.content.items()}
    )


def _fields(schema: acp.ElicitationSchema) -> tuple[QuestionField, ...] | None:
    """The fields of a form; those of unknown type are left out, unless they must be filled in."""
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
    """Titled choices, else plain ones; those of a list stand in its items."""
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
    """Whether an answer is to be kept out of the log: because the agent says so, or by what it is called."""
    if field.type != "string":
        return False
    marked = field.format == "password" or bool((field.meta or {}).get("secret"))
    return marked or any(_SECRET_NAME.search(words) for words in (name, field.title or ""))


def _page(url: str) -> str:
    """A page that a browser can show; nothing that an address could do besides."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"elicitation/create: {url!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise RpcError(INVALID_PARAMS, f"elicitation/create: {url!r} is no address of a page")
    return url


def _needed(name: str) -> NoReturn:
    raise RpcError(INVALID_PARAMS, f"elicitation/create needs {name}")


def _sent(value: QuestionValue) -> acp.ElicitationContentValue:
    return list(value) if isinstance(value, tuple) else value
