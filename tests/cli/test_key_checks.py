"""A model is connected through the server: keys and servers are tried before anything of them is stored."""

import asyncio
from typing import Any

import pytest

from tests.cli.test_given_keys import holding
from tests.cli.test_model_completion import off_loop, read, user
from tests.support.model_endpoint import Answer, ModelEndpoint, Say
from tests.support.program import Portico
from tests.support.serving import Server, detach

KEY = "sk-a-very-secret-key"


async def test_a_key_is_tried_in_one_request_and_stored_nowhere(portico: Portico, server: Server) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.key = KEY
        endpoint.answer = lambda _: Answer(Say("Yes."))
        await off_loop(detach, portico, environ={"ANTHROPIC_BASE_URL": endpoint.address})
        question: dict[str, Any] = {"model": "anthropic:claude", "messages": [user({"text": "There?"})]}
        _, refused = await off_loop(read, server, {**question, "key": "sk-wrong"})
        assert "rejected the key" in refused["error"]["message"]
        updates, _ = await off_loop(read, server, {**question, "key": KEY})
        assert "".join(one.get("text", "") for one in updates) == "Yes."
        _, missing = await off_loop(read, server, question)
        assert "No key for anthropic" in missing["error"]["message"]
    assert holding(portico.home, KEY) == []


async def test_what_a_provider_says_of_a_key_is_told(portico: Portico, server: Server) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.key = KEY
        await off_loop(detach, portico, environ={"ANTHROPIC_BASE_URL": endpoint.address})
        asked = {"keyVariable": "ANTHROPIC_API_KEY"}

        async def check(**more: object) -> Any:
            return await asyncio.to_thread(server.ask, "CheckProvider", {**asked, **more})

        accepted = await check(key=KEY)
        assert (accepted["verdict"], accepted["models"]) == ("KEY_VERDICT_ACCEPTED", ["scripted"])
        refused = await check(key="sk-wrong")
        assert (refused["verdict"], refused["detail"]) == (
            "KEY_VERDICT_REFUSED",
            "anthropic rejected the key (401).",
        )
        assert (await check())["detail"] == "ANTHROPIC_API_KEY is not stored."
        unknown = await check(keyVariable="HARBOUR_KEY", key=KEY)
        assert unknown["verdict"] == "KEY_VERDICT_UNKNOWN"
        await off_loop(server.ask, "SetSecret", {"name": "ANTHROPIC_API_KEY", "value": "sk-expired"})
        assert (await check())["verdict"] == "KEY_VERDICT_REFUSED"


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic"])
async def test_a_server_of_ones_own_is_tried_before_it_is_kept(
    portico: Portico, server: Server, kind: str
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.key = KEY
        endpoint.answer = lambda _: Answer(Say("Yes."))
        await off_loop(detach, portico)
        own = {"address": f"{endpoint.address}/", "kind": kind}
        assert (await off_loop(server.ask, "CheckProvider", {"server": own}))[
            "verdict"
        ] == "KEY_VERDICT_REFUSED"
        found = await off_loop(server.ask, "CheckProvider", {"server": own, "key": KEY})
        port = endpoint.address.rsplit(":", maxsplit=1)[-1]
        assert found["provider"] == f"127-0-0-1-{port}"
        assert found["keyVariable"] == f"PORTICO_127_0_0_1_{port}_KEY"
        request = {
            "model": f"{found['provider']}:scripted",
            "messages": [user({"text": "There?"})],
            "server": own,
            "key": KEY,
        }
        updates, _ = await off_loop(read, server, request)
        assert "".join(one.get("text", "") for one in updates) == "Yes."
        settings = [
            {"name": f"models.{found['provider']}.address", "valueJson": f'"{found["address"]}"'},
            {"name": f"models.{found['provider']}.kind", "valueJson": f'"{kind}"'},
            {"name": f"models.{found['provider']}.keyVariable", "valueJson": f'"{found["keyVariable"]}"'},
        ]
        await off_loop(server.ask, "SetSettings", {"settings": settings})
        await off_loop(server.ask, "SetSecret", {"name": found["keyVariable"], "value": KEY})
        again = await off_loop(server.ask, "CheckProvider", {"server": own, "key": KEY})
        assert again["provider"] == found["provider"]
        kept, _ = await off_loop(read, server, {key: request[key] for key in ("model", "messages")})
        assert "".join(one.get("text", "") for one in kept) == "Yes."


@pytest.mark.parametrize(
    "address", ["example.com", "file:///etc/passwd", "http://", "http://user:pass@host/v1", "http://host:x"]
)
async def test_an_address_that_is_not_one_of_the_web_is_refused(
    portico: Portico, server: Server, address: str
) -> None:
    await off_loop(detach, portico)
    with pytest.raises(AssertionError, match="is not a web address"):
        await off_loop(server.ask, "CheckProvider", {"server": {"address": address}})


async def test_servers_on_this_machine_are_offered(portico: Portico, server: Server) -> None:
    async with ModelEndpoint() as endpoint:
        await off_loop(detach, portico, environ={"OLLAMA_BASE_URL": f"{endpoint.address}/v1"})
        found = await off_loop(server.ask, "FindModelServers", {})
        ollama = {"title": "Ollama", "server": {"address": f"{endpoint.address}/v1"}, "models": ["scripted"]}
        assert ollama in found["servers"]
