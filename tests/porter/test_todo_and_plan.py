"""/todo and /plan keep lists that the client shows as a plan."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from tests.porter.client import Client


def entries(client: Client) -> list[tuple[str, str]]:
    [*_, plan] = client.updates(schema.Plan)
    return [(entry.content, entry.status) for entry in plan.entries]


async def test_things_to_do_are_added_done_and_removed(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/todo add write  the\ntests")
    await client.prompt(session, "/todo add run them")
    await client.prompt(session, "/todo done 1")
    assert client.text.endswith("**To do** — 1 item left of 2\n\n1. [x] write the tests\n2. [ ] run them")
    assert entries(client) == [("write the tests", "completed"), ("run them", "pending")]
    client.forget()
    await client.prompt(session, "/todo remove 1")
    assert client.text.endswith("1. [ ] run them")
    client.forget()
    await client.prompt(session, "/todo")
    assert entries(client) == [("run them", "pending")]
    await client.prompt(session, "/todo clear")
    assert "The to-do list is empty." in client.text
    assert entries(client) == []


async def test_lists_belong_to_their_session(client: Client, folder: Path) -> None:
    one, other = await client.open(folder), await client.open(folder)
    await client.prompt(one, "/todo add mine")
    client.forget()
    await client.prompt(other, "/todo list")
    assert client.text == "The to-do list is empty. `/todo add <text>` adds an item."


@pytest.mark.parametrize(
    "argument",
    ["add", "done", "done 0", "done 3", "done x", "remove -1", "done ²", "explode", "done 99999999"],
)
async def test_a_todo_that_makes_no_sense_changes_nothing(
    client: Client, folder: Path, argument: str
) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/todo add one")
    client.forget()
    assert await client.prompt(session, f"/todo {argument}") == "end_turn"
    assert client.text
    assert client.updates(schema.Plan) == []
    await client.prompt(session, "/todo")
    assert entries(client) == [("one", "pending")]


async def test_a_plan_is_set_and_followed_step_by_step(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/plan look; change ; test;")
    assert client.text == "**Plan** — 0 of 3 done\n\n1. [ ] look\n2. [ ] change\n3. [ ] test"
    assert entries(client) == [("look", "in_progress"), ("change", "pending"), ("test", "pending")]
    await client.prompt(session, "/plan done 1")
    assert entries(client) == [("look", "completed"), ("change", "in_progress"), ("test", "pending")]
    await client.prompt(session, "/plan\n- other\n* steps\n3. entirely")
    assert [content for content, _ in entries(client)] == ["other", "steps", "entirely"]
    await client.prompt(session, "/plan clear")
    assert client.text.endswith("There is no plan. `/plan first step; second step` creates one.")


async def test_the_plan_and_the_todos_are_shown_together(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/plan step")
    await client.prompt(session, "/todo add errand")
    assert entries(client) == [("step", "in_progress"), ("errand", "pending")]
    await client.prompt(session, "/todo clear")
    assert entries(client) == [("step", "in_progress")]


async def test_ticking_off_a_step_that_is_not_there_changes_nothing(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/plan done 1")
    assert "The list is empty" in client.text
