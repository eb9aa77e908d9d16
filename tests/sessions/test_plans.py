"""A plan whose last entries are things to do: two lists for the person, and each told only when it changes."""

from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.domain.events import Event, PlanUpdated, TodosUpdated
from tests.sessions.test_update_merger import hear


def plan(*contents: str, todos: Any = None) -> acp.Plan:
    entries = [acp.PlanEntry(content=one, priority="medium", status="pending") for one in contents]
    return acp.Plan(entries=entries, meta=None if todos is None else {"portico": {"todos": todos}})


def lists(events: list[Event]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for event in events:
        if isinstance(event.payload, PlanUpdated):
            found.append(("plan", [entry.content for entry in event.payload.entries]))
        if isinstance(event.payload, TodosUpdated):
            found.append(("todos", [todo.content for todo in event.payload.todos]))
    return found


async def test_each_list_is_told_when_it_changes(tmp_path: Path) -> None:
    told = (
        plan("look", "sand", todos=1),
        plan("look", "sand", "paint", todos=2),
        plan("look", "fix", "sand", "paint", todos=2),
        plan("look", "fix", todos=0),
    )
    assert lists(await hear(tmp_path, *told)) == [
        ("plan", ["look"]),
        ("todos", ["sand"]),
        ("todos", ["sand", "paint"]),
        ("plan", ["look", "fix"]),
        ("todos", []),
    ]


async def test_a_list_that_nobody_began_is_not_told_as_empty(tmp_path: Path) -> None:
    assert lists(await hear(tmp_path, plan("look", todos=0))) == [("plan", ["look"])]


async def test_more_things_to_do_than_entries_are_all_of_them(tmp_path: Path) -> None:
    assert lists(await hear(tmp_path, plan("sand", "paint", todos=10**12))) == [("todos", ["sand", "paint"])]


@pytest.mark.parametrize("todos", [-1, "2", 1.5, [1]])
async def test_a_number_that_makes_no_sense_leaves_a_plan_a_plan(tmp_path: Path, todos: Any) -> None:
    assert lists(await hear(tmp_path, plan("look", "sand", todos=todos))) == [("plan", ["look", "sand"])]
