"""Every cell of the turn table: where each event leads from each state, or that it leads nowhere."""

import re
from pathlib import Path

import pytest

from portico.domain.turns import InvalidTransition, TurnEvent, TurnState, TurnStatus

S, E = TurnState, TurnEvent
ACTIVE = {S.STARTING, S.RUNNING, S.STREAMING, S.AWAITING, S.RESUMING}

# Written out by hand from the design, not derived from the code.
TABLE: dict[TurnState, dict[TurnEvent, TurnState]] = {
    S.IDLE: {E.PROMPT: S.STARTING},
    S.COMPLETED: {E.PROMPT: S.STARTING},
    S.CANCELED: {E.PROMPT: S.STARTING},
    S.FAILED: {E.PROMPT: S.STARTING},
    S.STARTING: {
        E.AGENT_READY: S.RUNNING,
        E.USER_STOP: S.CANCELED,
        E.ERROR: S.FAILED,
        E.PROCESS_LOST: S.INTERRUPTED,
    },
    S.RESUMING: {
        E.AGENT_READY: S.RUNNING,
        E.USER_STOP: S.CANCELED,
        E.ERROR: S.FAILED,
        E.PROCESS_LOST: S.INTERRUPTED,
    },
    S.RUNNING: {
        E.FIRST_OUTPUT: S.STREAMING,
        E.ANSWER_NEEDED: S.AWAITING,
        E.TURN_ENDED: S.COMPLETED,
        E.USER_STOP: S.CANCELED,
        E.ERROR: S.FAILED,
        E.PROCESS_LOST: S.INTERRUPTED,
    },
    S.STREAMING: {
        E.ANSWER_NEEDED: S.AWAITING,
        E.TURN_ENDED: S.COMPLETED,
        E.USER_STOP: S.CANCELED,
        E.ERROR: S.FAILED,
        E.PROCESS_LOST: S.INTERRUPTED,
    },
    S.AWAITING: {
        E.ANSWERED: S.RUNNING,
        E.TURN_ENDED: S.COMPLETED,
        E.USER_STOP: S.CANCELED,
        E.ERROR: S.FAILED,
        E.PROCESS_LOST: S.INTERRUPTED,
    },
    S.INTERRUPTED: {E.RESUME: S.RESUMING, E.PROMPT: S.RESUMING, E.DISCARD: S.CANCELED},
}


@pytest.mark.parametrize("event", list(TurnEvent))
@pytest.mark.parametrize("state", list(TurnState))
def test_each_event_leads_from_each_state_where_the_table_says(state: TurnState, event: TurnEvent) -> None:
    before = S.RUNNING if state is S.AWAITING else None
    expected = TABLE[state].get(event)
    if expected is None:
        with pytest.raises(InvalidTransition, match=state):
            TurnStatus(state, before).after(event)
    else:
        assert TurnStatus(state, before).after(event).state is expected


@pytest.mark.parametrize("state", [S.IDLE, S.COMPLETED, S.CANCELED, S.FAILED])
def test_a_prompt_to_a_live_agent_runs_at_once(state: TurnState) -> None:
    assert TurnStatus(state).after(E.PROMPT, agent_alive=True).state is S.RUNNING


def test_a_prompt_to_an_interrupted_session_resumes_even_if_an_agent_lives() -> None:
    assert TurnStatus(S.INTERRUPTED).after(E.PROMPT, agent_alive=True).state is S.RESUMING


@pytest.mark.parametrize("state", [S.RUNNING, S.STREAMING])
def test_an_answered_question_goes_back_to_where_the_turn_was(state: TurnState) -> None:
    awaiting = TurnStatus(state).after(E.ANSWER_NEEDED)
    assert awaiting.state is S.AWAITING
    assert awaiting.after(E.ANSWERED) == TurnStatus(state)


def test_the_active_states_are_those_in_which_something_is_under_way() -> None:
    assert {state for state in TurnState if state.active} == ACTIVE


def test_the_labels_are_those_of_the_glossary() -> None:
    glossary = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
    states = glossary.split("## States")[1].split("## The chain")[0]
    labels = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", states, re.MULTILINE))
    assert labels == {state.value: state.label for state in TurnState}
