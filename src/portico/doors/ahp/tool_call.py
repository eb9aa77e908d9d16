"""One tool call of a turn: what its events say, as the state and the actions of the protocol."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, UnsetType

from portico.domain.events import (
    PermissionRequested,
    PermissionResolved,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
)
from portico.domain.values import BlockPart, DiffPart, PermissionOption, TerminalPart, TextPart, ToolPart
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.uris import content_uri, file_uri, terminal_uri

_NOT_NEEDED, _BY_PERSON, _BY_POLICY = "not-needed", "user-action", "setting"
_LONGEST_INPUT = 20_000


class ToolCallProjection:
    """Follows a call from its start to its end; each method returns the actions that tell clients of a change."""

    def __init__(self, session: str, turn_id: str, tool_id: str, name: str, title: str) -> None:
        self.tool_id = tool_id
        self.request_id: str | None = None
        """The permission request that is open."""
        self._session = session
        self._turn_id = turn_id
        self._name = name
        self._title = title
        self._parts: tuple[ToolPart, ...] = ()
        self._input: str | None = None
        self._options: tuple[PermissionOption, ...] = ()
        self._chosen: str | None = None
        self._confirmed = _NOT_NEEDED
        self._success: bool | None = None
        self._cancellation: ahp.ToolCallCancellationReason | None = None

    @classmethod
    def of(
        cls, session: str, turn_id: str, started: ToolStarted | PermissionRequested
    ) -> "ToolCallProjection":
        name = started.name if isinstance(started, ToolStarted) and started.name else started.tool_kind
        return cls(session, turn_id, started.tool_id, name, started.title)

    @property
    def is_pending(self) -> bool:
        return self.request_id is not None

    def start(self, started: ToolStarted | PermissionRequested) -> list[ahp.StateAction]:
        self._take_input(started.input)
        self._parts = started.content
        first = ahp.ChatToolCallStartAction(
            turn_id=self._turn_id, tool_call_id=self.tool_id, tool_name=self._name, display_name=self._title
        )
        return [first, self._ready(confirmed=_NOT_NEEDED), *self._content_changed()]

    def update(self, updated: ToolUpdated) -> list[ahp.StateAction]:
        actions: list[ahp.StateAction] = []
        self._take_input(updated.input)
        if updated.title is not None and updated.title != self._title:
            self._title = updated.title
            if self.is_pending:
                actions.append(self._ready())
            elif self._is_running:
                actions.append(self._ready(confirmed=self._confirmed))
        before = self._parts
        if updated.content is not None:
            self._parts = updated.content
        if updated.grown is not None:
            self._parts = updated.grown.of(self._parts)
        if self._is_running and (self._parts != before or actions):
            actions += self._content_changed()
        return actions

    def ask(self, request: PermissionRequested) -> list[ahp.StateAction]:
        self.request_id, self._options = request.request_id, request.options
        self._take_input(request.input)
        if request.content:
            self._parts = request.content
        return [self._ready()]

    def decide(self, resolved: PermissionResolved) -> list[ahp.StateAction]:
        self.request_id, self._chosen = None, resolved.option_id
        is_allowed = resolved.outcome == "allowed"
        self._cancellation = None if is_allowed else "denied"
        self._confirmed = _BY_PERSON if resolved.by == "person" else _BY_POLICY
        return [
            ahp.ChatToolCallConfirmedAction(
                turn_id=self._turn_id,
                tool_call_id=self.tool_id,
                approved=is_allowed,
                confirmed=self._confirmed if is_allowed else None,
                reason=self._cancellation,
                selected_option_id=resolved.option_id,
            ),
            *(self._content_changed() if is_allowed else []),
        ]

    def complete(self, completed: ToolCompleted) -> list[ahp.StateAction]:
        if completed.title is not None:
            self._title = completed.title
        if completed.content is not None:
            self._parts = completed.content
        if self._cancellation is not None:
            return []
        self.request_id, self._success = None, completed.success
        result = ahp.ToolCallResult(
            success=completed.success, past_tense_message=self._title, content=self._content() or None
        )
        return [
            ahp.ChatToolCallCompleteAction(turn_id=self._turn_id, tool_call_id=self.tool_id, result=result)
        ]

    def cancel(self) -> None:
        """The turn has ended before the call did, which clients conclude by themselves."""
        if self._success is None and self._cancellation is None:
            self.request_id, self._chosen, self._cancellation = None, None, "skipped"

    def choose(self, option_id: str | None, *, approved: bool) -> str | None:
        """The agent's option for a client's answer; None to deny. ValueError when the answer fits none."""
        if option_id is not None:
            chosen = next((one for one in self._options if one.option_id == option_id), None)
            if chosen is None or chosen.kind.startswith("allow") != approved:
                raise ValueError(f"{option_id!r} is not an option that fits this answer.")
            return option_id
        if not approved:
            return None
        once = next((one for one in self._options if one.kind == "allow_once"), None)
        if once is None:
            raise ValueError("The agent offers no single approval; choose one of its options.")
        return once.option_id

    def text_of(self, part: str, side: str) -> str | None:
        """Text of one side of a change in this call."""
        found = self._parts[int(part)] if part.isdecimal() and int(part) < len(self._parts) else None
        if not isinstance(found, DiffPart):
            return None
        return found.old_text if side == "before" else found.new_text

    def state(self) -> ahp.ToolCallState:
        if self._success is not None:
            return ahp.ToolCallCompletedState(
                tool_call_id=self.tool_id,
                tool_name=self._name,
                display_name=self._title,
                invocation_message=self._title,
                tool_input=self._input,
                success=self._success,
                past_tense_message=self._title,
                content=self._content() or None,
                confirmed=self._confirmed,
                selected_option=self._selected(),
            )
        if self._cancellation is not None:
            return ahp.ToolCallCancelledState(
                tool_call_id=self.tool_id,
                tool_name=self._name,
                display_name=self._title,
                invocation_message=self._title,
                tool_input=self._input,
                reason=self._cancellation,
                selected_option=self._selected(),
            )
        if self.is_pending:
            return self.pending_state()
        return ahp.ToolCallRunningState(
            tool_call_id=self.tool_id,
            tool_name=self._name,
            display_name=self._title,
            invocation_message=self._title,
            tool_input=self._input,
            confirmed=self._confirmed,
            selected_option=self._selected(),
            content=self._content() or None,
        )

    def pending_state(self) -> ahp.ToolCallPendingConfirmationState:
        return ahp.ToolCallPendingConfirmationState(
            tool_call_id=self.tool_id,
            tool_name=self._name,
            display_name=self._title,
            invocation_message=self._title,
            tool_input=self._input,
            confirmation_title=self._title,
            edits=self._edits(),
            options=_to_options(self._options),
        )

    @property
    def _is_running(self) -> bool:
        return self._success is None and self._cancellation is None and not self.is_pending

    def _ready(self, confirmed: str | None = None) -> ahp.ChatToolCallReadyAction:
        return ahp.ChatToolCallReadyAction(
            turn_id=self._turn_id,
            tool_call_id=self.tool_id,
            invocation_message=self._title,
            tool_input=self._input,
            confirmed=confirmed,
            confirmation_title=None if confirmed else self._title,
            edits=None if confirmed else self._edits(),
            options=None if confirmed else _to_options(self._options),
        )

    def _content_changed(self) -> list[ahp.StateAction]:
        content = self._content()
        if not content:
            return []
        return [
            ahp.ChatToolCallContentChangedAction(
                turn_id=self._turn_id, tool_call_id=self.tool_id, content=content
            )
        ]

    def _content(self) -> list[ahp.ToolResultContent]:
        return [self._to_content(place, part) for place, part in enumerate(self._parts)]

    def _to_content(self, place: int, part: ToolPart) -> ahp.ToolResultContent:
        match part:
            case TextPart(text=text):
                return ahp.ToolResultTextContent(text=text)
            case TerminalPart(terminal_id=terminal_id):
                resource = terminal_uri(self._session, terminal_id)
                return ahp.ToolResultTerminalContent(resource=resource, title=self._title, is_pty=False)
            case DiffPart():
                edit = self._edit(place, part)
                return ahp.ToolResultFileEditContent(before=edit.before, after=edit.after)
            case BlockPart(block=block):
                return ahp.ToolResultTextContent(text=bytes(block).decode())

    def _edit(self, place: int, part: DiffPart) -> ahp.FileEdit:
        uri = file_uri(part.path)
        sides = {
            side: ahp.FileEditSide(
                uri=uri,
                content=ahp.ContentRef(
                    uri=content_uri(self._session, self.tool_id, str(place), side), content_type="text/plain"
                ),
            )
            for side in ("before", "after")
        }
        return ahp.FileEdit(before=None if part.old_text is None else sides["before"], after=sides["after"])

    def _edits(self) -> ahp.FileEditCollection | None:
        found = [self._edit(at, part) for at, part in enumerate(self._parts) if isinstance(part, DiffPart)]
        return ahp.FileEditCollection(items=found) if found else None

    def _selected(self) -> ahp.ConfirmationOption | None:
        chosen = [one for one in self._options if one.option_id == self._chosen]
        return _to_options(chosen)[0] if chosen else None

    def _take_input(self, value: Raw | UnsetType) -> None:
        if not isinstance(value, UnsetType):
            text = msgspec.json.format(bytes(value), indent=2).decode("utf-8", "replace")
            self._input = text if len(text) <= _LONGEST_INPUT else text[:_LONGEST_INPUT] + "…"


def _to_options(
    options: Iterable[PermissionOption] | Sequence[PermissionOption],
) -> list[ahp.ConfirmationOption]:
    return [
        ahp.ConfirmationOption(
            id=one.option_id,
            label=one.name,
            kind="approve" if one.kind.startswith("allow") else "deny",
        )
        for one in options
    ]
