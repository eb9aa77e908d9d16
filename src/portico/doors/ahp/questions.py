"""Questions of agents as input requests of the protocol, and the answers of clients."""

from collections.abc import Mapping

from portico.domain.events import QuestionAsked
from portico.domain.values import QuestionField, QuestionValue
from portico.doors.ahp import _schema as ahp
from portico.sessions.requests.questions import QuestionAnswer


def to_input_request(asked: QuestionAsked) -> ahp.ChatInputRequest:
    questions = [_to_question(field) for field in asked.fields]
    return ahp.ChatInputRequest(
        id=asked.request_id, message=asked.message, url=asked.url, questions=questions or None
    )


def read_answer(completed: ahp.ChatInputCompletedAction) -> QuestionAnswer:
    """The answer of a client: the values that it submitted."""
    content = {}
    for name, answer in (completed.answers or {}).items():
        if isinstance(answer, ahp.ChatInputAnswerSubmitted):
            content[name] = _read_value(answer.value)
    return QuestionAnswer(action=completed.response, content=_whole_numbers(content))


def _to_question(field: QuestionField) -> ahp.ChatInputQuestion:
    message = field.description or field.title or field.name
    options = [ahp.ChatInputOption(id=str(one.value), label=one.name) for one in field.choices]
    least, most, default = field.minimum, field.maximum, field.default
    match field.type:
        case "boolean":
            value = default if isinstance(default, bool) else None
            return ahp.ChatInputBooleanQuestion(
                id=field.name,
                title=field.title,
                message=message,
                required=field.required,
                default_value=value,
            )
        case "number" | "integer":
            kind = ahp.ChatInputQuestionInteger if field.type == "integer" else ahp.ChatInputQuestionNumber
            return kind(
                id=field.name,
                title=field.title,
                message=message,
                required=field.required,
                min=least,
                max=most,
                default_value=float(default) if isinstance(default, int | float) else None,
            )
        case "choice":
            return ahp.ChatInputSingleSelectQuestion(
                id=field.name, title=field.title, message=message, required=field.required, options=options
            )
        case "choices":
            return ahp.ChatInputMultiSelectQuestion(
                id=field.name,
                title=field.title,
                message=message,
                required=field.required,
                options=options,
                min=_whole(least),
                max=_whole(most),
            )
        case "string":
            return ahp.ChatInputTextQuestion(
                id=field.name,
                title=field.title,
                message=message,
                required=field.required,
                format="password" if field.secret else field.format,
                min=_whole(least),
                max=_whole(most),
                default_value=default if isinstance(default, str) else None,
            )


def _read_value(value: ahp.ChatInputAnswerValue) -> QuestionValue:
    match value:
        case ahp.ChatInputSelectedManyAnswerValue(value=chosen):
            return tuple(chosen)
        case _:
            return value.value


def _whole_numbers(content: Mapping[str, QuestionValue]) -> dict[str, QuestionValue]:
    """Numbers without a fraction as integers: the protocol has one kind of number."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in content.items()
    }


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)
