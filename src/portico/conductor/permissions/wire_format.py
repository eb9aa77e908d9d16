"""Portico's extension of ACP permission requests: scopes, extra options and the client's answer.

A client that announces `clientCapabilities._meta.portico.permissions` learns which scopes it may
choose and hears of every decision that was made without it. Any other client is shown two options
more. Either way the agent sees its own options only.
"""

from typing import Any, Literal

import msgspec
from msgspec import Raw, UnsetType

from portico.acp import _schema as acp
from portico.acp.extensions import VERSION, ChosenScope, OfferedScopes, PorticoCapabilities, Scope, from_meta
from portico.acp.lenient_decoder import decode
from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.policy import PermissionRule
from portico.conductor.permissions.risks import risks_of
from portico.conductor.permissions.suggested_rule import wider_rule
from portico.domain import codecs
from portico.mcp.protocol import fields_of
from portico.rpc.messages import Message

_LONGEST_NAME = 80

PORTICO_OPTIONS: dict[str, Literal["session", "always"]] = {
    "portico:session": "session",
    "portico:always": "always",
}


class PermissionAnswer(msgspec.Struct, frozen=True):
    """A client's answer to a permission request, and the part of it that is passed on to the agent."""

    outcome: acp.RequestPermissionOutcome
    scope: Scope
    rule: str | None
    for_agent: Raw


class RequestParts(msgspec.Struct, frozen=True, rename="camel"):
    tool_call: Raw
    options: Raw


def knows_portico(initialize: Raw) -> bool:
    """Whether a client announced in `initialize` that it knows this extension."""
    try:
        meta = decode(initialize, acp.InitializeRequest).client_capabilities.meta
    except msgspec.DecodeError:
        return False
    return from_meta(meta, PorticoCapabilities).permissions >= VERSION


def with_capability(initialize: Raw, name: Literal["broker", "proposals"]) -> Raw:
    """The parameters of `initialize`, telling Porter of a proxy that stands in the chain."""
    fields = fields_of(initialize)
    client = fields_of(fields.get("clientCapabilities"))
    meta = fields_of(client.get("_meta"))
    portico = {**fields_of(meta.get("portico")), name: VERSION}
    return _encoded({**fields, "clientCapabilities": {**client, "_meta": {**meta, "portico": portico}}})


def with_scopes(params: Raw, rule: PermissionRule | None, action: RequestedAction) -> Raw:
    """The request with its risks, and the scopes that a client that knows Portico may choose."""
    scopes: tuple[Scope, ...] = ("once",) if rule is None else ("once", "session", "always")
    wider = None if rule is None else wider_rule(action)
    offered = OfferedScopes(
        scopes,
        None if rule is None else rule.text,
        None if wider is None or wider == rule else wider.text,
        risks_of(action),
    )
    fields = codecs.decode_json(params, dict[str, Raw])
    return _encoded({**fields, "_meta": {**_meta(fields), "portico": offered}})


def with_options(params: Raw, rule: PermissionRule) -> Raw:
    """The request with Portico's two options after the agent's own."""
    fields = codecs.decode_json(params, dict[str, Raw])
    shown = _shown(rule.text)
    names = (f"Allow for this session: {shown} (Portico)", f"Always allow: {shown} (Portico)")
    more = [
        acp.PermissionOption(option_id=option_id, name=name, kind="allow_always")
        for option_id, name in zip(PORTICO_OPTIONS, names, strict=True)
    ]
    return _encoded({**fields, "options": [*codecs.decode_json(fields["options"], list[Raw]), *more]})


def read_answer(message: Message) -> PermissionAnswer | None:
    """A client's choice and its scope; None for an error or an unreadable answer."""
    if not isinstance(message.result, Raw) or not isinstance(message.error, UnsetType):
        return None
    try:
        response = decode(message.result, acp.RequestPermissionResponse)
    except msgspec.DecodeError:
        return None
    chosen = from_meta(response.meta, ChosenScope)
    return PermissionAnswer(response.outcome, chosen.scope, chosen.rule, _without_scope(message.result))


def _without_scope(result: Raw) -> Raw:
    """The answer for the agent: unchanged to the byte unless it contains fields of Portico's."""
    fields = codecs.decode_json(result, dict[str, Raw])
    meta = _meta(fields)
    if meta.pop("portico", None) is None:
        return result
    others = {name: value for name, value in fields.items() if name != "_meta"}
    return _encoded({**others, "_meta": meta} if meta else others)


def _meta(fields: dict[str, Raw]) -> dict[str, Any]:
    try:
        return codecs.decode_json(fields.get("_meta", b"{}"), dict[str, Raw] | None) or {}
    except msgspec.DecodeError:
        return {}


def _shown(text: str) -> str:
    """A rule as a one-line button label in which line breaks stay visible."""
    line = "".join(letter if letter.isprintable() else " " for letter in text.replace("\n", "\\n"))
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def _encoded(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))
