"""All cases for clients, in the order they are tried."""

from portico.conformance.case import Case
from portico.conformance.client_cases.files import FILES
from portico.conformance.client_cases.initialization import INITIALIZATION
from portico.conformance.client_cases.questions import QUESTIONS
from portico.conformance.client_cases.record import RECORD
from portico.conformance.client_cases.terminals import TERMINALS
from portico.conformance.client_cases.updates import UPDATES
from portico.conformance.client_cases.wire import WIRE
from portico.conformance.client_trial import ClientTrial

_LISTS = (INITIALIZATION, FILES, TERMINALS, QUESTIONS, UPDATES, WIRE, RECORD)

CLIENT_CASES: tuple[Case[ClientTrial], ...] = tuple(case for cases in _LISTS for case in cases.cases)
