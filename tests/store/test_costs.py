"""Costs of sessions: differences of agents' reports, by day, model and session."""

import pytest

from portico.domain.costs import Spending, SpendingGrouping, total_spending
from portico.domain.events import AnyPayload, ConfigUpdated, Event, SessionStarted, UsageUpdated
from portico.domain.ids import SessionId
from portico.domain.values import ConfigOption, ForkedFrom
from portico.sessions.ports import Store
from tests.store.support import ALPHA, AT, BETA, event, opening

DAY_MS = 86_400_000


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


def model(name: str) -> ConfigUpdated:
    return ConfigUpdated(options=(ConfigOption(option_id="m", name="Model", value=name, category="model"),))


def talk(session_id: SessionId, *payloads: AnyPayload, agent: str = "porter", days: int = 0) -> list[Event]:
    """Events, each a day after the one before if `days` is 1."""
    everything = (opening("/work", agent=agent), *payloads)
    return [
        event(session_id, seq, payload, at=AT + seq + (seq - 1) * days * DAY_MS)
        for seq, payload in enumerate(everything, 1)
    ]


def costs(found: list[Spending], by: SpendingGrouping) -> list[tuple[str, float | None]]:
    return [(one.name, None if one.cost is None else round(one.cost, 6)) for one in total_spending(found, by)]


async def test_a_report_costs_what_it_adds_and_a_lower_one_starts_anew(store: Store) -> None:
    reports = [UsageUpdated(used=1, size=9, cost=cost) for cost in (0.1, 0.25, 0.25, 0.05, 0.07)]
    await store.append(talk(ALPHA, *reports), durable=False)
    assert costs(await store.spending(), "session") == [(ALPHA, 0.32)]


async def test_tokens_are_added_and_a_cost_may_be_unknown(store: Store) -> None:
    turns = [UsageUpdated(input_tokens=100, output_tokens=10), UsageUpdated(input_tokens=5)]
    await store.append(talk(ALPHA, *turns), durable=False)
    (total,) = total_spending(await store.spending(), "agent")
    assert (total.name, total.cost, total.input_tokens, total.output_tokens) == ("porter", None, 105, 10)


async def test_costs_go_to_the_model_of_their_time_and_to_agents(store: Store) -> None:
    events = talk(
        ALPHA,
        UsageUpdated(cost=0.1),
        model("small"),
        UsageUpdated(cost=0.3),
        model("big"),
        UsageUpdated(cost=1.3),
    )
    await store.append(events, durable=False)
    await store.append(talk(BETA, UsageUpdated(cost=2.0, currency="EUR"), agent="claude"), durable=False)
    found = await store.spending()
    assert costs(found, "model")[1:] == [("big", 1.0), ("small", 0.2), ("", 0.1)]
    assert [(one.name, one.currency) for one in total_spending(found, "agent")] == [
        ("claude", "EUR"),
        ("porter", "USD"),
    ]


async def test_days_are_in_order_and_older_ones_can_be_left_out(store: Store) -> None:
    reports = [UsageUpdated(cost=cost) for cost in (0.1, 0.4, 1.4)]
    await store.append(talk(ALPHA, *reports, days=1), durable=False)
    days = total_spending(await store.spending(), "day")
    assert [round(one.cost or 0, 6) for one in days] == [0.1, 0.3, 1.0]
    assert [one.name for one in days] == sorted(one.name for one in days)
    recent = await store.spending(since_ms=AT + 2 * DAY_MS)
    assert costs(recent, "session") == [(ALPHA, 1.3)]
    assert await store.spending(since_ms=AT + 9 * DAY_MS) == []


async def test_copies_of_a_forked_session_cost_nothing_again(store: Store) -> None:
    await store.append(talk(ALPHA, UsageUpdated(cost=0.5)), durable=False)
    forked = SessionStarted(
        workspace="/work",
        agent="porter",
        continued=False,
        mode="direct",
        portico_version="1",
        forked_from=ForkedFrom(session_id=ALPHA),
    )
    await store.copy(ALPHA, [event(BETA, 3, forked, at=AT + 10)])
    await store.append([event(BETA, 4, UsageUpdated(cost=0.7), at=AT + 11)], durable=False)
    assert costs(await store.spending(), "session") == [(ALPHA, 0.5), (BETA, 0.2)]
