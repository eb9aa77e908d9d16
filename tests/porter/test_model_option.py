"""Porter's model as an option of the session, and the person's list, as any ACP client can send them."""

from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from portico.acp import _schema as schema
from portico.acp import extensions
from portico.domain.catalog import ModelEntry
from portico.domain.errors import InvalidInput
from portico.porter.setup import PorterSetup, SetupReader
from portico.rpc.messages import INVALID_PARAMS, RpcError
from tests.porter.client import Client, connected
from tests.porter.loop.scripted import NAME, Say, ScriptedModel


def setup(model: ScriptedModel, opened: list[str]) -> SetupReader:
    def check(name: str) -> None:
        if ":" not in name:
            raise InvalidInput(f"{name!r} is not a model name.")

    def of(_: Path) -> PorterSetup:
        base = model.setup()(Path())

        def open_named(name: str) -> object:
            opened.append(name)
            return base.open(name)

        return msgspec.structs.replace(
            base,
            open=open_named,
            check=check,
            known=lambda: (ModelEntry("some:small"), ModelEntry("some:big")),
        )

    return of


async def choose(client: Client, session: str, value: str | bool, option: str = "model") -> str:
    kind = "boolean" if isinstance(value, bool) else None
    request = schema.SetSessionConfigOptionRequest(
        session_id=session, config_id=option, type=kind, value=value
    )
    (found,) = (await client.end.set_config_option(request)).config_options
    assert isinstance(found, schema.SessionConfigSelect)
    return found.current_value


async def test_a_chosen_model_is_opened_from_the_next_turn_on(state: Path, folder: Path) -> None:
    opened: list[str] = []
    model = ScriptedModel([Say("One."), Say("Two.")])
    async with connected(state, setup_of=setup(model, opened)) as client:
        session = await client.open(folder)
        await client.prompt(session, "hello")
        assert await choose(client, session, "some:big") == "some:big"
        await client.prompt(session, "hello")
        assert await choose(client, session, "default") == "default"
    assert opened == [NAME, "some:big"]


@pytest.mark.parametrize(("option", "value"), [("size", "big"), ("model", True)])
async def test_an_option_that_is_not_there_is_refused(
    client: Client, folder: Path, option: str, value: str | bool
) -> None:
    session = await client.open(folder)
    with pytest.raises(RpcError) as refused:
        await choose(client, session, value, option)
    assert refused.value.code == INVALID_PARAMS


async def test_a_name_that_is_no_model_changes_nothing(state: Path, folder: Path) -> None:
    opened: list[str] = []
    model = ScriptedModel([Say("One.")])
    async with connected(state, setup_of=setup(model, opened)) as client:
        session = await client.open(folder)
        await choose(client, session, "some:big")
        with pytest.raises(RpcError, match="is not a model name"):
            await choose(client, session, "nonsense")
        await client.prompt(session, "hello")
    assert opened == ["some:big"]


async def test_the_list_of_the_person_is_shown_and_told_to_the_model_once(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("One."), Say("Two.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        for _ in range(2):
            todos = [extensions.WrittenTodo(content="water\nthe plants", status="in_progress")]
            client.end.write_todos(extensions.WrittenTodos(session_id=session, todos=todos))
        await client.prompt(session, "hello")
        await client.prompt(session, "hello again")
        await client.prompt(session, "/todo")
        assert "[ ] water the plants" in client.text
    assert repr(model.requests[1].messages).count("[in_progress] water the plants") == 1


async def test_a_list_for_nobody_or_of_nonsense_is_passed_over(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    client.end.write_todos(extensions.WrittenTodos(session_id="nobody", todos=[]))
    client.end._connection.notify(extensions.TODOS, Raw(b'{"sessionId": 7}'))
    await client.prompt(session, "/todo")
    assert "The to-do list is empty." in client.text
