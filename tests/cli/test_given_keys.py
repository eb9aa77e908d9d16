"""A key that a person enters on a card reaches an agent that runs already, and no file, where there is no keyring."""

import asyncio
import json
from pathlib import Path

from tests.cli.test_model_failures import environ
from tests.support.model_endpoint import Answer, ModelEndpoint, Say
from tests.support.program import Portico
from tests.support.serving import Server, detach
from tests.support.stream import Json

NEW_KEY = "sk-a-very-secret-key"


def turn(server: Server, session_id: str, text: str) -> str:
    """One turn; all that was heard of it."""
    stream = server.stream("Invoke", {"sessionId": session_id, "text": text})
    heard: list[Json] = []
    while (message := stream.next()) is not None:
        heard.append(message)
    return json.dumps(heard)


def holding(folder: Path, words: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if words.encode() in path.read_bytes()]


async def test_a_new_key_is_used_from_the_next_turn_on_and_the_conversation_goes_on(
    portico: Portico, server: Server
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: Answer(Say("Hello."))
        await asyncio.to_thread(detach, portico, environ=environ(endpoint))
        begun = await asyncio.to_thread(server.ask, "StartSession", {"workspace": str(portico.workspace)})
        session_id = begun["session"]["summary"]["sessionId"]
        assert "Hello." in await asyncio.to_thread(turn, server, session_id, "first things first")
        endpoint.key = NEW_KEY
        assert "AUTH_REQUIRED" in await asyncio.to_thread(turn, server, session_id, "and then?")
        secret = {"name": "ANTHROPIC_API_KEY", "value": NEW_KEY}
        kept = await asyncio.to_thread(server.ask, "SetSecret", secret)
        assert kept == {"keeper": "SECRET_KEEPER_MEMORY"}
        heard = await asyncio.to_thread(turn, server, session_id, "and now?")
        assert "Hello." in heard
        assert "AUTH_REQUIRED" not in heard
        assert "first things first" in json.dumps(endpoint.requests[-1].body)
        assert [request.key for request in endpoint.requests] == ["a-key", "a-key", NEW_KEY]
        await asyncio.to_thread(server.ask, "SetSecret", {"name": "ANTHROPIC_API_KEY", "value": ""})
        assert "AUTH_REQUIRED" in await asyncio.to_thread(turn, server, session_id, "and without it?")
    assert NEW_KEY not in heard
    assert holding(portico.home, NEW_KEY) == []
    assert holding(portico.workspace, NEW_KEY) == []


async def test_a_key_that_comes_in_the_middle_of_a_turn_is_used_by_the_next_one(
    portico: Portico, server: Server
) -> None:
    async with ModelEndpoint(Answer(Say("It takes its time, this one"), hangs_after=4)) as endpoint:
        endpoint.answer = lambda _: Answer(Say("Hello."))
        await asyncio.to_thread(detach, portico, environ=environ(endpoint))
        begun = await asyncio.to_thread(server.ask, "StartSession", {"workspace": str(portico.workspace)})
        session_id = begun["session"]["summary"]["sessionId"]
        stream = await asyncio.to_thread(
            server.stream, "Invoke", {"sessionId": session_id, "text": "take your time"}
        )
        await asyncio.to_thread(stream.until, "It takes")
        await asyncio.to_thread(server.ask, "SetSecret", {"name": "ANTHROPIC_API_KEY", "value": NEW_KEY})
        await asyncio.to_thread(server.ask, "StopTurn", {"sessionId": session_id})
        await asyncio.to_thread(stream.end)
        assert "Hello." in await asyncio.to_thread(turn, server, session_id, "and now?")
        assert [request.key for request in endpoint.requests] == ["a-key", NEW_KEY]
