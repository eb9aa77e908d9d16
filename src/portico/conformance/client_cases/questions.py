"""Cases about what a client asks the person: permissions and questions of the agent, and cancelling a turn."""

from collections.abc import Sequence
from typing import Any

from portico.acp import _schema as schema
from portico.conformance.case import CaseList, Level, NotExercised, Violation
from portico.conformance.client_trial import SESSION, ClientTrial, require
from portico.conformance.dialogue import RecordedAnswer
from portico.conformance.trial import read_result

QUESTIONS: CaseList[ClientTrial] = CaseList()

_PERMISSION = "session/request_permission"
_QUESTION = "elicitation/create"
_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


@QUESTIONS.add("PORTICO-CLIENT-PERMISSIONS-001", Level.MANDATORY, "tool-calls#requesting-permission")
async def choose_offered_option(trial: ClientTrial) -> str:
    """The answer to a permission request is one of its options, or `cancelled`."""
    connection = await trial.connect()
    chosen = []
    for number, kinds in enumerate((_KINDS, ("reject_once",), ("allow_once", "reject_once"))):
        request = _permission(f"portico-{number}", kinds)
        chosen.append(_decision(await connection.request(_PERMISSION, request), request))
    return f"Chosen: {', '.join(chosen)}."


@QUESTIONS.add("PORTICO-CLIENT-PERMISSIONS-002", Level.MANDATORY, "tool-calls#requesting-permission")
async def answer_each_permission(trial: ClientTrial) -> None:
    """Permission requests that come together are answered each with an option of its own."""
    connection = await trial.connect()
    requests = [_permission(f"portico-together-{number}", _KINDS) for number in range(3)]
    answers = [connection.dialogue.start(_PERMISSION, request) for request in requests]
    for request, answer in zip(requests, answers, strict=True):
        _decision(await answer, request)


@QUESTIONS.add("PORTICO-CLIENT-ELICITATION-001", Level.CAPABILITY, "elicitation#form-mode")
async def fill_form(trial: ClientTrial) -> str:
    """A form is answered with `accept` and values that fit it, with `decline` or with `cancel`."""
    connection = await trial.connect()
    elicitation = connection.capabilities.elicitation
    require(elicitation is not None and elicitation.form is not None, "elicitation.form")
    fields = {"name": {"type": "string"}, "count": {"type": "integer"}, "sure": {"type": "boolean"}}
    form = {"type": "object", "properties": fields, "required": list(fields)}
    params = {"sessionId": SESSION, "mode": "form", "message": "Conformance", "requestedSchema": form}
    answer = await connection.request(_QUESTION, params)
    response = read_result(answer, _QUESTION, schema.CreateElicitationResponse)
    if response.action not in ("accept", "decline", "cancel"):
        raise Violation(f"There is no action {response.action}.", (answer.frame,))
    if response.action == "accept":
        content = response.content or {}
        for name, field in fields.items():
            value = content.get(name)
            is_boolean = isinstance(value, bool)
            if not isinstance(value, _TYPES[field["type"]]) or is_boolean != (field["type"] == "boolean"):
                raise Violation(f"The value of {name} is {value!r}.", (answer.frame,))
    return f"The answer was {response.action}."


@QUESTIONS.add("PORTICO-CLIENT-ELICITATION-002", Level.MANDATORY, "elicitation#checking-support")
async def refuse_questions(trial: ClientTrial) -> None:
    """A question of a kind that the client does not announce is answered with an error."""
    connection = await trial.connect()
    announced = connection.capabilities.elicitation
    params: dict[str, Any] = {"sessionId": SESSION, "message": "Conformance"}
    if announced is None or announced.form is None:
        params |= {"mode": "form", "requestedSchema": {"type": "object", "properties": {}}}
    elif announced.url is None:
        params |= {"mode": "url", "url": "https://example.com/", "elicitationId": "portico-1"}
    else:
        raise NotExercised("The client announces forms and pages.")
    answer = await connection.request(_QUESTION, params)
    if not answer.failure:
        raise Violation("The question was answered.", (answer.frame,))


@QUESTIONS.add("PORTICO-CLIENT-CANCEL-001", Level.MANDATORY, "prompt-turn#cancellation")
async def notify_cancellation(trial: ClientTrial) -> None:
    """A turn is cancelled by the notification `session/cancel`, which names its session."""
    connection = await trial.open_cancelled()
    frame = await trial.cancel(connection)
    if not frame.is_notification:
        raise Violation("session/cancel is a request.", (frame,))
    if (found := frame.params(schema.CancelNotification).session_id) != SESSION:
        raise Violation(f"There is no session {found}.", (frame,))


@QUESTIONS.add("PORTICO-CLIENT-CANCEL-002", Level.MANDATORY, "prompt-turn#cancellation")
async def cancel_pending_permissions(trial: ClientTrial) -> None:
    """When a turn is cancelled, all its pending permission requests are answered with `cancelled`."""
    connection = await trial.open_cancelled()
    requests = [_permission(f"portico-pending-{number}", _KINDS) for number in range(2)]
    answers = [connection.dialogue.start(_PERMISSION, request) for request in requests]
    cancelled = await trial.cancel(connection)
    for request, asked in zip(requests, answers, strict=True):
        answer = await asked
        if answer.frame.number < cancelled.number and _is_selected(answer):
            raise NotExercised("The client answered the permission requests before it cancelled.")
        if (found := _decision(answer, request)) != "cancelled":
            raise Violation(f"The answer was {found}.", (cancelled, answer.frame))


@QUESTIONS.add("PORTICO-CLIENT-CANCEL-003", Level.ADVISORY, "prompt-turn#cancellation")
async def listen_after_cancellation(trial: ClientTrial) -> None:
    """After cancelling, a client still takes updates and answers requests until the turn is answered."""
    connection = await trial.open_cancelled()
    await trial.cancel(connection)
    connection.update(
        sessionUpdate="tool_call", toolCallId="portico-late", title="Late", kind="other", status="pending"
    )
    connection.update(sessionUpdate="tool_call_update", toolCallId="portico-late", status="failed")
    await connection.expect_alive()


@QUESTIONS.add("PORTICO-CLIENT-CANCEL-004", Level.ADVISORY, "prompt-turn#cancellation")
async def cancel_late_permissions(trial: ClientTrial) -> None:
    """A permission request that comes after the cancellation is answered with `cancelled`."""
    connection = await trial.open_cancelled()
    await trial.cancel(connection)
    request = _permission("portico-late", _KINDS)
    answer = await connection.request(_PERMISSION, request)
    if (found := _decision(answer, request)) != "cancelled":
        raise Violation(f"The answer was {found}.", (answer.frame,))


def _permission(prefix: str, kinds: Sequence[str]) -> dict[str, Any]:
    options = [{"optionId": f"{prefix}-{kind}", "name": kind, "kind": kind} for kind in kinds]
    tool_call = {"toolCallId": prefix, "title": "Conformance", "kind": "edit", "status": "pending"}
    return {"sessionId": SESSION, "toolCall": tool_call, "options": options}


def _is_selected(answer: RecordedAnswer) -> bool:
    response = read_result(answer, _PERMISSION, schema.RequestPermissionResponse)
    return isinstance(response.outcome, schema.SelectedPermissionOutcome)


def _decision(answer: RecordedAnswer, request: dict[str, Any]) -> str:
    """The kind of the chosen option, or `cancelled`. Violation when it was not offered."""
    response = read_result(answer, _PERMISSION, schema.RequestPermissionResponse)
    if not isinstance(response.outcome, schema.SelectedPermissionOutcome):
        return "cancelled"
    for option in request["options"]:
        if option["optionId"] == response.outcome.option_id:
            return str(option["kind"])
    raise Violation(f"The option {response.outcome.option_id} was not offered.", (answer.frame,))
