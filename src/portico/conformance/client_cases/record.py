"""Cases that judge every frame of the run, so they are tried last."""

from portico.conformance import frame_rules
from portico.conformance.case import Blocked, CaseList, Level
from portico.conformance.client_trial import ClientTrial
from portico.conformance.dialogue import RecordedFrame
from portico.conformance.frame_rules import refuse_problems

RECORD: CaseList[ClientTrial] = CaseList()


@RECORD.add("PORTICO-CLIENT-TRANSPORT-001", Level.MANDATORY, "transports#stdio")
async def write_messages_only(trial: ClientTrial) -> None:
    """Every line that a client writes to its agent is one JSON-RPC 2.0 message in UTF-8."""
    refuse_problems(frame_rules.broken_lines(_run(trial)))


@RECORD.add("PORTICO-CLIENT-JSONRPC-006", Level.MANDATORY, "overview#error-handling")
async def answer_once(trial: ClientTrial) -> None:
    """A response has either a result or an error, and an error has a number as code and a text as message."""
    refuse_problems(frame_rules.broken_responses(_run(trial)))


@RECORD.add("PORTICO-CLIENT-SCHEMA-001", Level.MANDATORY, "schema")
async def use_types_of_protocol(trial: ClientTrial) -> None:
    """Everything that a client sends has the types of the protocol."""
    refuse_problems(frame_rules.badly_typed(_run(trial), "client"))


@RECORD.add("PORTICO-CLIENT-SCHEMA-002", Level.ADVISORY, "extensibility#the-meta-field")
async def add_no_fields(trial: ClientTrial) -> None:
    """No field is added at the root of a type of the protocol; what is custom is in `_meta`."""
    refuse_problems(frame_rules.unknown_fields(_run(trial), "client"))


def _run(trial: ClientTrial) -> list[RecordedFrame]:
    if not any(frame.direction == "received" for frame in trial.frames):
        raise Blocked("The client never wrote a line.")
    return trial.frames
