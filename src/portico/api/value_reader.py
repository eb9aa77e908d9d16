"""Decoder of the values inside messages of the contract: tool content, proposals, questions, options.

The contract has no null: an empty text stands for None wherever the domain has None.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, Raw, UnsetType
from protobuf import Enum, Message
from protobuf.wkt import Timestamp

from portico.api.fields import read_enum
from portico.api.v1 import events_pb as pb
from portico.domain import codecs, events, values
from portico.domain.errors import MODEL_FAILURES, ErrorDetails, MalformedEvent
from portico.domain.reviews import ProposedFile, ProposedHunk
from portico.domain.turns import TurnState


def from_time(at: Timestamp | None) -> int:
    return 0 if at is None else at.seconds * 1000 + at.nanos // 1_000_000


def from_state(state: pb.TurnState) -> TurnState:
    return TurnState[state.name]


def from_proposal(message: pb.ProposalUpdated) -> events.ProposalUpdated:
    return events.ProposalUpdated(
        proposal_id=message.proposal_id,
        revision=message.revision,
        status=from_enum(message.status),
        origin=from_enum(message.origin),
        files=from_proposed_files(message.files),
        unlisted=message.unlisted,
        can_undo=message.can_undo,
    )


def from_proposed_files(files: Iterable[pb.ProposedFile]) -> tuple[ProposedFile, ...]:
    return tuple(
        ProposedFile(
            path=file.path,
            operation=from_enum(file.operation),
            old_path=file.old_path or None,
            added=file.added,
            removed=file.removed,
            diff=file.diff,
            hunks=from_hunks(file.hunks),
            binary=file.binary,
            generated=file.generated,
            shortened=file.shortened,
            conflict=file.conflict,
            denied=file.denied,
            warning=file.warning or None,
        )
        for file in files
    )


def from_hunks(hunks: Iterable[pb.ProposedHunk]) -> tuple[ProposedHunk, ...]:
    return tuple(
        ProposedHunk(
            hunk_id=hunk.hunk_id,
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
        )
        for hunk in hunks
    )


def from_restored(message: pb.CheckpointRestored) -> events.CheckpointRestored:
    return events.CheckpointRestored(
        checkpoint_id=message.checkpoint_id,
        kept_checkpoint_id=message.kept_checkpoint_id,
        files=message.files,
        proposal_id=message.proposal_id or None,
    )


def from_options(options: Iterable[pb.ConfigOption]) -> tuple[values.ConfigOption, ...]:
    return tuple(
        values.ConfigOption(
            option_id=one.option_id,
            name=one.name,
            value="" if one.value is None else one.value.value,
            category=one.category or None,
            choices=_choices(one.choices),
            description=one.description or None,
            open=one.open,
        )
        for one in options
    )


def from_permission(message: pb.PermissionRequested) -> events.PermissionRequested:
    return events.PermissionRequested(
        request_id=message.request_id,
        tool_id=message.tool_id,
        title=message.title,
        options=tuple(
            values.PermissionOption(option_id=one.option_id, name=one.name, kind=from_enum(one.kind))
            for one in message.options
        ),
        tool_kind=from_enum(message.tool_kind),
        content=from_parts(message.content),
        locations=from_locations(message.locations),
        input=from_json(message, "input_json"),
        scopes=tuple(from_enum(one) for one in message.scopes),
        wider_rule=message.wider_rule or None,
        risks=tuple(from_enum(one) for one in message.risks),
        rule=message.rule or None,
    )


def from_question(message: pb.QuestionAsked) -> events.QuestionAsked:
    return events.QuestionAsked(
        request_id=message.request_id,
        message=message.message,
        mode="url" if message.mode == "url" else "form",
        title=message.title or None,
        description=message.description or None,
        fields=tuple(map(_field, message.fields)),
        url=message.url or None,
        elicitation_id=message.elicitation_id or None,
        tool_id=message.tool_id or None,
    )


def from_error_details(message: pb.ErrorDetails | None) -> ErrorDetails:
    if message is None:
        return ErrorDetails()
    return ErrorDetails(
        suggestion=message.suggestion or None,
        agent=message.agent or None,
        stderr=message.stderr or None,
        exit_status=message.exit_status or None,
        auth_methods=tuple(message.auth_methods),
        model_failure=MODEL_FAILURES.get(message.model_failure),
    )


def from_sandbox(message: pb.SandboxInForce | None) -> values.SandboxStatus | None:
    if message is None:
        return None
    return values.SandboxStatus(
        level=codecs.convert(message.level, values.SandboxLevel), backend=message.backend, note=message.note
    )


def from_parts(parts: Iterable[pb.ToolPart]) -> tuple[values.ToolPart, ...]:
    return tuple(_part(one.part) for one in parts)


def _part(part: Any) -> values.ToolPart:
    match None if part is None else part.field:
        case "text":
            return values.TextPart(text=part.value.text)
        case "diff":
            diff = part.value
            return values.DiffPart(
                path=diff.path, new_text=diff.new_text, old_text=from_optional(diff, "old_text")
            )
        case "terminal":
            return values.TerminalPart(terminal_id=part.value.terminal_id)
        case "block":
            return values.BlockPart(block=Raw(part.value.block_json.encode()))
        case _:
            raise MalformedEvent("The server sent tool content of an unknown kind.")


def from_locations(locations: Iterable[pb.Location]) -> tuple[values.Location, ...]:
    return tuple(values.Location(path=one.path, line=from_optional(one, "line")) for one in locations)


def _field(field: pb.QuestionField) -> values.QuestionField:
    return values.QuestionField(
        name=field.name,
        type=codecs.convert(field.type, values.FieldType),
        title=field.title or None,
        description=field.description or None,
        required=field.required,
        default=_default(field),
        choices=_choices(field.choices),
        format=field.format or None,
        pattern=field.pattern or None,
        minimum=from_optional(field, "minimum"),
        maximum=from_optional(field, "maximum"),
        secret=field.secret,
    )


def _default(field: pb.QuestionField) -> values.QuestionValue | None:
    default: values.QuestionValue | None = None
    if field.has_field("default_json"):
        default = codecs.decode_json(field.default_json, values.QuestionValue)
    return default


def _choices(choices: Iterable[pb.Choice]) -> tuple[values.OptionChoice, ...]:
    return tuple(
        values.OptionChoice(value=one.value, name=one.name, description=one.description or None)
        for one in choices
    )


def from_json(message: Message[Any], field: str) -> Raw | UnsetType:
    """JSON in a text field, unset if the field is absent or empty."""
    text = getattr(message, field)
    return Raw(text.encode()) if text else UNSET


def from_optional(message: Message[Any], field: str) -> Any:
    """Value of an optional field, None if it is absent."""
    return getattr(message, field) if message.has_field(field) else None


def from_enum(value: Enum) -> Any:
    """The domain's word for an enum value. MalformedEvent for one that is unspecified or unknown."""
    word = read_enum(value)
    if word is None:
        raise MalformedEvent(f"The server sent an event without a {type(value).__name__}.")
    return word
