"""Cases that judge every frame of the run, so they are tried last."""

from portico.conformance import frame_rules
from portico.conformance.agent_trial import AgentTrial
from portico.conformance.case import Blocked, CaseList, Level, NotExercised, Violation
from portico.conformance.dialogue import RecordedFrame
from portico.conformance.frame_rules import refuse_problems

RECORD: CaseList[AgentTrial] = CaseList()


@RECORD.add("ACP-TRANSPORT-001", Level.MANDATORY, "transports#stdio")
async def write_messages_only(trial: AgentTrial) -> None:
    """Every line that the agent writes to standard output is one JSON-RPC 2.0 message."""
    refuse_problems(frame_rules.broken_lines(_run(trial)))


@RECORD.add("ACP-TRANSPORT-002", Level.MANDATORY, "transports")
async def write_utf8(trial: AgentTrial) -> None:
    """The agent writes UTF-8 to standard output."""
    for frame in _run(trial):
        try:
            frame.line.decode()
        except UnicodeDecodeError as error:
            raise Violation(str(error), (frame,)) from error


@RECORD.add("ACP-JSONRPC-002", Level.MANDATORY, "overview#error-handling")
async def answer_once(trial: AgentTrial) -> None:
    """A response has either a result or an error, and an error has a number as code and a text as message."""
    refuse_problems(frame_rules.broken_responses(_run(trial)))


@RECORD.add("ACP-SCHEMA-001", Level.MANDATORY, "schema")
async def use_types_of_protocol(trial: AgentTrial) -> None:
    """Everything that the agent sends has the types of the protocol."""
    refuse_problems(frame_rules.badly_typed(_run(trial)))


@RECORD.add("ACP-SCHEMA-002", Level.ADVISORY, "extensibility#the-meta-field")
async def add_no_fields(trial: AgentTrial) -> None:
    """No field is added at the root of a type of the protocol; what is custom is in `_meta`."""
    refuse_problems(frame_rules.unknown_fields(_run(trial)))


@RECORD.add("ACP-ERROR-001", Level.ADVISORY, "schema#error")
async def write_short_errors(trial: AgentTrial) -> None:
    """The message of an error is one line that is not empty."""
    errors = [
        frame
        for frame in _run(trial)
        if frame.direction == "received" and frame.message is not None and frame.message.error
    ]
    if not errors:
        raise NotExercised("The agent never answered with an error.")
    for frame in errors:
        error = frame.message.error if frame.message is not None else None
        message = getattr(error, "message", "-")
        if not message.strip() or "\n" in message:
            raise Violation("The message of the error is empty or has several lines.", (frame,))


def _run(trial: AgentTrial) -> list[RecordedFrame]:
    frames = trial.judged_frames
    if not any(frame.direction == "received" for frame in frames):
        raise Blocked("The agent never wrote a line.")
    return frames
