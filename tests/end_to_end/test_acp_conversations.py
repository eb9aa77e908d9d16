"""A client made with the official TypeScript SDK drives `portico acp`; whole conversations are kept."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import PEERS, node, proxy_settings, typescript_agent
from tests.support.program import PROGRAM, Portico
from tests.support.snapshots import Spoken, check_snapshot, in_lines, read_conversation
from tests.support.stream import Json

INITIALIZE: Json = {
    "call": "initialize",
    "params": {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}},
    },
}
THREE = ("--proxy", "one", "--proxy", "two", "--proxy", "three")

Converse = Callable[..., list[Spoken]]
Keep = Callable[[str, list[Spoken]], None]


@pytest.fixture
def converse(portico: Portico) -> Converse:
    """Let the client do some steps after `initialize` with a `portico acp` of these flags."""

    def go(flags: tuple[str, ...], *steps: Json | list[Json]) -> list[Spoken]:
        words = [node(), str(PEERS / "acp_client.mjs"), json.dumps([INITIALIZE, *steps]), str(PROGRAM), "acp"]
        done = subprocess.run(
            [*words, *flags],
            cwd=portico.workspace,
            env=portico.environ(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return read_conversation(done.stdout)

    return go


@pytest.fixture(autouse=True)
def notes(portico: Portico) -> Path:
    path = portico.workspace / "notes.txt"
    path.write_text("before\n")
    return path


@pytest.fixture(autouse=True)
def proxies(portico: Portico) -> None:
    portico.settings(proxy_settings(one=("proxy",), two=("_proxy",), three=("older",)))


def nest(portico: Portico, **conductors: tuple[str, ...]) -> None:
    """Settings with the three proxies, and with conductors of these flags as proxies."""
    known = proxy_settings(one=("proxy",), two=("_proxy",), three=("older",))["proxies"]
    nested = {name: {"command": str(PROGRAM), "args": ["acp", *flags]} for name, flags in conductors.items()}
    portico.settings({"proxies": {**known, **nested}})


@pytest.fixture
def keep(portico: Portico) -> Keep:
    """Hold a conversation against the one that was kept."""

    def hold(name: str, conversation: list[Spoken]) -> None:
        names = {session_id: f"SESSION-{place}" for place, session_id in enumerate(sessions(conversation), 1)}
        names[str(portico.workspace)] = "WORKSPACE"
        check_snapshot(name, in_lines(conversation, names))

    return hold


def agent(portico: Portico) -> tuple[str, str]:
    return "--agent-command", typescript_agent(portico)


def new(portico: Portico, name: str = "session") -> Json:
    return {"call": "session/new", "params": {"cwd": str(portico.workspace), "mcpServers": []}, "as": name}


def prompt(text: str, session_id: str = "$session", **more: object) -> Json:
    blocks = [{"type": "text", "text": text}]
    return {"call": "session/prompt", "params": {"sessionId": session_id, "prompt": blocks}, **more}


def load(portico: Portico, session_id: str) -> Json:
    params = {"sessionId": session_id, "cwd": str(portico.workspace), "mcpServers": []}
    return {"call": "session/load", "params": params}


def sessions(conversation: list[Spoken]) -> list[str]:
    """The sessions of a conversation, in the order in which they were first spoken of."""
    found: dict[str, None] = {}
    for one in conversation:
        for part in (one.message.get("result"), one.message.get("params")):
            if isinstance(part, dict) and "sessionId" in part:
                found[part["sessionId"]] = None
    return list(found)


def of_agent(conversation: list[Spoken], method: str) -> list[Json]:
    return [
        one.message["params"]
        for one in conversation
        if one.sender == "agent" and one.message.get("method") == method
    ]


def said(conversation: list[Spoken]) -> list[str]:
    updates = [params["update"] for params in of_agent(conversation, "session/update")]
    return [one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk"]


def test_a_whole_turn_through_three_proxies_that_each_speak_another_dialect(
    converse: Converse, portico: Portico, keep: Keep, notes: Path
) -> None:
    spoken = converse((*agent(portico), *THREE), new(portico), prompt("tour"))
    assert said(spoken)[-1] == "told: one two three·three·two·one"
    assert notes.read_text() == "changed ✓\n"
    keep("three_proxies", spoken)


def test_the_same_turn_without_anything_in_between(
    converse: Converse, portico: Portico, keep: Keep, notes: Path
) -> None:
    spoken = converse((*agent(portico), "--no-proxies"), new(portico), prompt("tour"))
    (question,) = of_agent(spoken, "session/request_permission")
    assert [option["optionId"] for option in question["options"]] == ["yes", "no"]
    assert notes.read_text() == "changed ✓\n"
    keep("no_proxies", spoken)


def test_a_conductor_inside_a_conductor(converse: Converse, portico: Portico, keep: Keep) -> None:
    inner = shlex.join([str(PROGRAM), "acp", *agent(portico), "--proxy", "two", "--proxy", "three"])
    spoken = converse(("--agent-command", inner, "--proxy", "one"), new(portico), prompt("tour"))
    assert said(spoken)[-1] == "told: one two three·three·two·one"
    keep("nested", spoken)


def test_a_conductor_as_a_proxy_inside_a_conductor_changes_nothing(
    converse: Converse, portico: Portico, keep: Keep, notes: Path
) -> None:
    nest(portico, innermost=("--proxy", "three"), inner=("--proxy", "two", "--proxy", "innermost"))
    flags = (*agent(portico), "--proxy", "one", "--proxy", "inner")
    spoken = converse(flags, new(portico), prompt("tour"))
    assert said(spoken)[-1] == "told: one two three·three·two·one"
    assert notes.read_text() == "changed ✓\n"
    keep("three_proxies", spoken)


def test_a_turn_is_cancelled_through_conductors_inside_a_conductor(
    converse: Converse, portico: Portico, keep: Keep
) -> None:
    nest(portico, innermost=("--proxy", "three"), inner=("--proxy", "two", "--proxy", "innermost"))
    spoken = converse(
        (*agent(portico), "--proxy", "one", "--proxy", "inner"),
        new(portico),
        prompt("wait", cancelAt="agent_message_chunk"),
        prompt("hello"),
    )
    keep("cancelled", spoken)


def test_a_permission_for_the_session_is_not_asked_for_again(
    converse: Converse, portico: Portico, keep: Keep
) -> None:
    spoken = converse(
        (*agent(portico), *THREE),
        new(portico),
        prompt("edit notes.txt", answer="portico:session"),
        prompt("edit notes.txt"),
    )
    (question,) = of_agent(spoken, "session/request_permission")
    assert [option["optionId"] for option in question["options"]] == [
        "yes",
        "no",
        "portico:session",
        "portico:always",
    ]
    assert [text for text in said(spoken) if "selected" in text] == ["selected yes·three·two·one"] * 2
    keep("allowed_for_the_session", spoken)


def test_a_permission_for_good_holds_in_the_next_process(converse: Converse, portico: Portico) -> None:
    flags = (*agent(portico), *THREE)
    first = converse(flags, new(portico), prompt("edit notes.txt", answer="portico:always"))
    again = converse(flags, new(portico), prompt("edit notes.txt"))
    assert len(of_agent(first, "session/request_permission")) == 1
    assert of_agent(again, "session/request_permission") == []
    assert said(again) == ["selected yes·three·two·one"]


def test_a_refusal_reaches_the_agent_as_its_own_option(
    converse: Converse, portico: Portico, keep: Keep, notes: Path
) -> None:
    spoken = converse((*agent(portico), *THREE), new(portico), prompt("edit notes.txt", answer="no"))
    assert said(spoken) == ["selected no·three·two·one"]
    assert notes.read_text() == "before\n"
    keep("refused", spoken)


def test_a_turn_is_cancelled_and_the_session_goes_on(
    converse: Converse, portico: Portico, keep: Keep
) -> None:
    spoken = converse(
        (*agent(portico), *THREE),
        new(portico),
        prompt("wait", cancelAt="agent_message_chunk"),
        prompt("hello"),
    )
    keep("cancelled", spoken)
    assert said(spoken)[-1].startswith("hello")


def test_a_session_is_loaded_by_another_process(converse: Converse, portico: Portico, keep: Keep) -> None:
    flags = (*agent(portico), *THREE)
    (session_id,) = sessions(converse(flags, new(portico), prompt("remember me")))
    spoken = converse(
        flags, load(portico, session_id), prompt("edit notes.txt", session_id), load(portico, "gone")
    )
    assert said(spoken) == ["selected yes·three·two·one"]
    keep("loaded", spoken)


def test_sessions_side_by_side_in_one_chain_are_not_mixed(converse: Converse, portico: Portico) -> None:
    spoken = converse(
        (*agent(portico), *THREE),
        new(portico, "first"),
        new(portico, "second"),
        [prompt("count 200 a", "$first"), prompt("count 200 b", "$second")],
    )
    first, second = sessions(spoken)
    for session_id, word in ((first, "a"), (second, "b")):
        texts = [
            params["update"]["content"]["text"]
            for params in of_agent(spoken, "session/update")
            if params["sessionId"] == session_id
        ]
        assert texts == [f"{word}{number}·three·two·one" for number in range(200)]
