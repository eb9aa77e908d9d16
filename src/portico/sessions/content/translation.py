"""Translates ACP updates into session events, without dropping anything.

An update without an event of its own becomes a `notice` with the raw message.
"""

from collections.abc import Iterable
from typing import Any, Literal, assert_never

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.acp import _schema as acp
from portico.acp.extensions import OfferedScopes, OptionMeta, ToolCallMeta, from_meta
from portico.domain import codecs, events, values
from portico.rpc.messages import Fault

NOTHING_OFFERED = OfferedScopes()


def tool_parts(content: Iterable[acp.ToolCallContent]) -> tuple[values.ToolPart, ...]:
    return tuple(_tool_part(part) for part in content)


def _tool_part(part: acp.ToolCallContent) -> values.ToolPart:
    match part:
        case acp.Content(content=acp.TextContent(text=text)):
            return values.TextPart(text=text)
        case acp.Content(content=block):
            return values.BlockPart(block=as_raw(block))
        case acp.Diff():
            return values.DiffPart(path=part.path, old_text=part.old_text, new_text=part.new_text)
        case acp.Terminal():
            return values.TerminalPart(terminal_id=part.terminal_id)
        case _:
            assert_never(part)


def locations(found: Iterable[acp.ToolCallLocation]) -> tuple[values.Location, ...]:
    return tuple(values.Location(path=place.path, line=place.line) for place in found)


def as_raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def optional_raw(value: Any) -> Raw | UnsetType:
    return UNSET if value is None else as_raw(value)


def tool_started(call: acp.ToolCall | acp.ToolCallUpdate) -> events.ToolStarted:
    meta = from_meta(call.meta, ToolCallMeta)
    return events.ToolStarted(
        tool_id=call.tool_call_id,
        title=call.title or call.name or call.tool_call_id,
        tool_kind=call.kind or "other",
        status=call.status or "pending",
        name=call.name,
        content=tool_parts(call.content or ()),
        locations=locations(call.locations or ()),
        input=optional_raw(call.raw_input),
        output=optional_raw(call.raw_output),
        read_only=meta.read_only,
        stoppable=meta.stoppable,
    )


def tool_updated(call: acp.ToolCall | acp.ToolCallUpdate) -> events.ToolUpdated:
    return events.ToolUpdated(
        tool_id=call.tool_call_id,
        title=call.title,
        tool_kind=call.kind,
        status=call.status,
        content=None if call.content is None else tool_parts(call.content),
        locations=None if call.locations is None else locations(call.locations),
        input=optional_raw(call.raw_input),
        output=optional_raw(call.raw_output),
    )


def tool_completed(
    call: acp.ToolCall | acp.ToolCallUpdate, *, duration_ms: int, success: bool
) -> events.ToolCompleted:
    return events.ToolCompleted(
        tool_id=call.tool_call_id,
        success=success,
        duration_ms=duration_ms,
        title=call.title,
        tool_kind=call.kind,
        content=None if call.content is None else tool_parts(call.content),
        locations=None if call.locations is None else locations(call.locations),
        input=optional_raw(call.raw_input),
        output=optional_raw(call.raw_output),
    )


def permission_requested(
    request_id: str,
    call: acp.ToolCall | acp.ToolCallUpdate,
    options: Iterable[acp.PermissionOption],
    offered: OfferedScopes = NOTHING_OFFERED,
) -> events.PermissionRequested:
    return events.PermissionRequested(
        request_id=request_id,
        tool_id=call.tool_call_id,
        title=call.title or call.tool_call_id,
        tool_kind=call.kind or "other",
        options=tuple(
            values.PermissionOption(option_id=option.option_id, name=option.name, kind=option.kind)
            for option in options
        ),
        content=tool_parts(call.content or ()),
        locations=locations(call.locations or ()),
        input=optional_raw(call.raw_input),
        scopes=offered.scopes if offered.rule is not None else (),
        rule=offered.rule,
        wider_rule=offered.wider,
        risks=offered.risks,
    )


def config_updated(
    options: Iterable[acp.SessionConfigOption], modes: acp.SessionModeState | None
) -> events.ConfigUpdated | None:
    """The agent's options; its modes are one more, unless the agent lists them as an option itself."""
    found = [_config_option(option) for option in options]
    if modes is not None and not any(option.category == "mode" for option in found):
        choices = tuple(
            values.OptionChoice(value=mode.id, name=mode.name, description=mode.description)
            for mode in modes.available_modes
        )
        found.append(
            values.ConfigOption(
                option_id="mode", name="Mode", value=modes.current_mode_id, category="mode", choices=choices
            )
        )
    return events.ConfigUpdated(options=tuple(found)) if found else None


def _config_option(option: acp.SessionConfigOption) -> values.ConfigOption:
    match option:
        case acp.SessionConfigBoolean():
            return values.ConfigOption(
                option_id=option.id,
                name=option.name,
                value=option.current_value,
                category=option.category,
                description=option.description,
            )
        case acp.SessionConfigSelect():
            return values.ConfigOption(
                option_id=option.id,
                name=option.name,
                value=option.current_value,
                category=option.category,
                choices=tuple(_choices(option.options)),
                description=option.description,
                open=from_meta(option.meta, OptionMeta).open,
            )
        case _:
            assert_never(option)


def _choices(entries: Iterable[acp.SessionConfigSelectEntry]) -> Iterable[values.OptionChoice]:
    for entry in entries:
        if entry.options is not None:
            for option in entry.options:
                yield values.OptionChoice(
                    value=option.value, name=option.name, description=option.description
                )
        elif entry.value is not None:
            yield values.OptionChoice(value=entry.value, name=entry.name, description=entry.description)


def other_update(update: acp.SessionUpdate) -> events.AnyPayload:
    """The event of an update that is complete in itself."""
    match update:
        case acp.AgentMessageChunk(content=acp.TextContent(text=text), message_id=message_id):
            return events.TextDelta(text=text, message_id=message_id)
        case acp.AgentMessageChunk(content=block, message_id=message_id):
            return events.TextDelta(text="", message_id=message_id, block=as_raw(block))
        case acp.AgentThoughtChunk(content=acp.TextContent(text=text), message_id=message_id):
            return events.Thinking(text=text, message_id=message_id)
        case acp.AgentThoughtChunk(content=block, message_id=message_id):
            return events.Thinking(text="", message_id=message_id, block=as_raw(block))
        case acp.AvailableCommandsUpdate(available_commands=commands):
            return events.CommandsUpdated(
                commands=tuple(
                    values.AgentCommand(
                        name=command.name,
                        description=command.description,
                        hint=command.input.hint if command.input else None,
                    )
                    for command in commands
                )
            )
        case acp.UsageUpdate():
            cost = update.cost
            return events.UsageUpdated(
                used=update.used,
                size=update.size,
                cost=cost.amount if cost else None,
                currency=cost.currency if cost else None,
            )
        case acp.SessionInfoUpdate(title=str(title)):
            return events.TitleUpdated(title=title)
        case acp.ConfigOptionUpdate(config_options=options):
            return config_updated(options, None) or events.ConfigUpdated(options=())
        case acp.Notice():
            return events.Notice(
                level=_LEVELS.get(update.severity, "info"),
                text=_in_one(update.title, update.description),
                source="agent",
                raw=as_raw(update),
            )
        case _:
            return unknown_update(as_raw(update))


def _in_one(title: str, description: str | None) -> str:
    """A title, with a period unless it ends a sentence already."""
    if not description:
        return title
    return f"{title} {description}" if title.endswith((".", "!", "?")) else f"{title}: {description}"


_LEVELS: dict[str, Literal["info", "warning", "error"]] = {"warning": "warning", "error": "error"}


class _UpdateKind(msgspec.Struct, rename="camel"):
    session_update: str = "?"


def unknown_update(raw: Raw) -> events.Notice:
    """Notice with the raw message of an unknown update."""
    try:
        kind = codecs.decode_json(raw, _UpdateKind).session_update
    except msgspec.DecodeError:
        kind = "?"
    return events.Notice(
        level="info", text=f"The agent sent an update of kind {kind}.", source="agent", raw=raw
    )


def fault_notice(fault: Fault, count: int) -> events.Notice:
    """Notice about ignored malformed messages; `fault` is the first of them."""
    what = _FAULTS[fault.kind]
    more = f" ({count} such messages)" if count > 1 else ""
    sample = f": {fault.sample}" if fault.sample else ""
    return events.Notice(
        level="warning",
        text=f"Ignored {what} from the agent{more}. {fault.detail}{sample}"[:1000],
        count=count,
    )


_FAULTS = {
    "not_utf8": "a line that is not UTF-8",
    "not_json": "a line that is not JSON",
    "not_a_message": "a line that is not a JSON-RPC message",
    "too_long": "an overlong line",
    "unknown_response": "an unexpected response",
    "duplicate_id": "a request whose id is in use",
    "bad_params": "a message that does not fit the protocol",
}
