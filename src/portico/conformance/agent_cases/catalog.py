"""All cases for agents, in the order they are tried."""

from portico.conformance.agent_cases.client_requests import CLIENT_REQUESTS
from portico.conformance.agent_cases.history import HISTORY
from portico.conformance.agent_cases.initialization import INITIALIZATION
from portico.conformance.agent_cases.record import RECORD
from portico.conformance.agent_cases.sessions import SESSIONS
from portico.conformance.agent_cases.turns import TURNS
from portico.conformance.agent_cases.wire import WIRE
from portico.conformance.agent_trial import AgentTrial
from portico.conformance.case import Case

_LISTS = (INITIALIZATION, WIRE, SESSIONS, TURNS, CLIENT_REQUESTS, HISTORY, RECORD)

AGENT_CASES: tuple[Case[AgentTrial], ...] = tuple(case for cases in _LISTS for case in cases.cases)
