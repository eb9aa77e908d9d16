"""Paths as the person and the agent read them, when the agent works in a folder of its own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.review.acp.path_rewriter import PathRewriter
from portico.review.acp.path_translation import PathTranslation
from tests.conductor.support import Ends, chain

Json = dict[str, Any]
FOLDER = "/state/portico/workplaces/5d41402abc4b2a76/01JD0-q7"
WORKSPACE = "/home/mia/app"

_names = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\"), min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))
_folders = st.lists(_names, min_size=2, max_size=4).map(lambda names: "/" + "/".join(names))


class Talk:
    """A chain with a translation in it; the test speaks for both ends."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        self._last_id = 0

    async def open(self, cwd: str = FOLDER, workspace: str | None = WORKSPACE, session: str = "s1") -> Json:
        meta = {} if workspace is None else {"_meta": {"portico": {"workspace": workspace}}}
        return await self.call("session/new", {"cwd": cwd, "mcpServers": [], **meta}, {"sessionId": session})

    async def call(self, method: str, params: Json, result: Json) -> Json:
        """A request of the client that the agent answers; the request as the agent saw it."""
        self._last_id += 1
        self.ends.client.send(
            json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        )
        asked = await self.ends.agent.receive()
        self.ends.agent.send(json.dumps({"jsonrpc": "2.0", "id": self._last_id, "result": result}))
        await self.ends.client.receive()
        return asked

    async def prompt(self, text: str, session: str = "s1") -> str:
        """A prompt as the agent reads it."""
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        asked = await self.call("session/prompt", params, {"stopReason": "end_turn"})
        return str(asked["params"]["prompt"][0]["text"])

    async def tell(self, method: str, params: Json, **message: Any) -> Json:
        """A message of the agent as the client reads it."""
        self.ends.agent.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **message}))
        return await self.ends.client.receive()

    async def say(self, text: str, session: str = "s1") -> str:
        content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        told = await self.tell("session/update", {"sessionId": session, "update": content})
        return str(told["params"]["update"]["content"]["text"])


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    async with chain(PathTranslation()) as ends:
        await ends.initialize()
        yield Talk(ends)


async def test_the_person_reads_of_files_in_the_workspace_and_the_agent_of_files_in_its_folder() -> None:
    async with talking() as talk:
        await talk.open()
        assert await talk.say(f"I changed {FOLDER}/a.py.") == f"I changed {WORKSPACE}/a.py."
        assert await talk.prompt(f"Look at {WORKSPACE}/a.py") == f"Look at {FOLDER}/a.py"


async def test_tool_calls_and_permission_questions_name_the_files_of_the_person() -> None:
    call = {
        "toolCallId": "c1",
        "title": f"Edit {FOLDER}/a.py",
        "kind": "edit",
        "locations": [{"path": f"{FOLDER}/a.py", "line": 3}],
        "content": [{"type": "diff", "path": f"{FOLDER}/a.py", "oldText": "a", "newText": "b"}],
        "rawInput": {"command": f"cd {FOLDER} && make"},
    }
    async with talking() as talk:
        await talk.open()
        told = await talk.tell(
            "session/update", {"sessionId": "s1", "update": {"sessionUpdate": "tool_call", **call}}
        )
        asked = await talk.tell(
            "session/request_permission", {"sessionId": "s1", "toolCall": call, "options": []}, id=9
        )
        for shown in (told, asked):
            assert FOLDER not in json.dumps(shown)
        assert asked["params"]["toolCall"]["content"][0]["path"] == f"{WORKSPACE}/a.py"
        assert asked["id"] == 9


async def test_a_path_that_the_person_enters_into_a_form_is_one_that_the_agent_can_use() -> None:
    async with talking() as talk:
        await talk.open()
        asked = await talk.tell(
            "elicitation/create", {"sessionId": "s1", "message": f"Which file in {FOLDER}?"}, id=4
        )
        assert asked["params"]["message"] == f"Which file in {WORKSPACE}?"
        talk.ends.client.send(
            json.dumps({"jsonrpc": "2.0", "id": 4, "result": {"content": {"file": f"{WORKSPACE}/b.py"}}})
        )
        answer = await talk.ends.agent.receive()
        assert answer["result"]["content"]["file"] == f"{FOLDER}/b.py"


async def test_an_error_of_the_agent_names_the_files_of_the_person() -> None:
    async with talking() as talk:
        await talk.open()
        talk.ends.client.send(
            b'{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}'
        )
        await talk.ends.agent.receive()
        error = {"code": -32603, "message": f"cannot open {FOLDER}/a.py", "data": {"path": f"{FOLDER}/a.py"}}
        talk.ends.agent.send(json.dumps({"jsonrpc": "2.0", "id": 9, "error": error}))
        told = (await talk.ends.client.receive())["error"]
        assert told["message"] == f"cannot open {WORKSPACE}/a.py"
        assert told["data"] == {"path": f"{WORKSPACE}/a.py"}


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create"])
async def test_files_and_commands_are_asked_for_where_they_are(method: str) -> None:
    params = {"sessionId": "s1", "path": f"{FOLDER}/a.py", "cwd": FOLDER}
    async with talking() as talk:
        await talk.open()
        assert (await talk.tell(method, params, id=5))["params"] == params


async def test_history_is_translated_while_a_session_is_still_being_loaded() -> None:
    async with talking() as talk:
        params = {"sessionId": "old", "cwd": FOLDER, "_meta": {"portico": {"workspace": WORKSPACE}}}
        talk.ends.client.send(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": params})
        )
        assert (await talk.ends.agent.receive())["params"] == params
        assert await talk.say(f"{FOLDER}/a.py", session="old") == f"{WORKSPACE}/a.py"
        talk.ends.agent.send('{"jsonrpc":"2.0","id":1,"result":{}}')
        await talk.ends.client.receive()
        assert await talk.prompt(WORKSPACE, session="old") == FOLDER


async def test_two_sessions_of_one_workspace_have_a_folder_each() -> None:
    other = FOLDER.replace("q7", "q8")
    async with talking() as talk:
        await talk.open()
        await talk.open(other, session="s2")
        assert await talk.prompt(WORKSPACE) == FOLDER
        assert await talk.prompt(WORKSPACE, session="s2") == other
        assert await talk.say(f"{FOLDER} {other}!") == f"{WORKSPACE} {WORKSPACE}!"


async def test_a_session_that_works_in_the_workspace_is_left_alone() -> None:
    async with talking() as talk:
        await talk.open(WORKSPACE, workspace=WORKSPACE, session="plain")
        await talk.open(WORKSPACE, workspace=None, session="foreign")
        for session in ("plain", "foreign"):
            assert await talk.prompt(f"{WORKSPACE} {FOLDER}", session) == f"{WORKSPACE} {FOLDER}"
            assert await talk.say(f"{WORKSPACE} {FOLDER}", session) == f"{WORKSPACE} {FOLDER}"


async def test_what_needs_no_translation_passes_byte_by_byte() -> None:
    strange = b'{ "method":"session/update","params":{"b" :1.50,"a":"\\u0041 /elsewhere"}, "jsonrpc":"2.0"}'
    async with talking() as talk:
        await talk.open()
        talk.ends.agent.send(strange)
        assert await talk.ends.client.line() == strange


async def test_a_closed_session_is_translated_no_more() -> None:
    proxy = PathTranslation()
    async with chain(proxy) as ends:
        await ends.initialize()
        talk = Talk(ends)
        assert not proxy.agent_methods
        await talk.open()
        assert proxy.agent_methods
        await talk.call("session/close", {"sessionId": "s1"}, {})
        assert not proxy.agent_methods
        assert await talk.say(FOLDER) == FOLDER


async def test_a_session_that_could_not_be_opened_leaves_nothing_behind() -> None:
    proxy = PathTranslation()
    async with chain(proxy) as ends:
        await ends.initialize()
        params = {"cwd": FOLDER, "mcpServers": [], "_meta": {"portico": {"workspace": WORKSPACE}}}
        ends.client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}))
        await ends.agent.receive()
        ends.agent.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}')
        assert (await ends.client.receive())["error"]["message"] == "no"
        assert not proxy.agent_methods


async def test_a_folder_behind_a_link_is_known_by_both_its_names(tmp_path: Path) -> None:
    real = tmp_path / "real-state"
    real.mkdir()
    linked = tmp_path / "state"
    linked.symlink_to(real)
    async with talking() as talk:
        await talk.open(str(linked / "q7"))
        assert await talk.say(f"{linked}/q7/a {real}/q7/b") == f"{WORKSPACE}/a {WORKSPACE}/b"


async def test_in_a_part_of_a_repository_files_of_the_other_parts_have_both_their_names_too(
    tmp_path: Path,
) -> None:
    repository, own = tmp_path / "mia" / "tools", tmp_path / "state" / "tree" / "tools"
    for top in (repository, own):
        (top / ".git").mkdir(parents=True)
        (top / "app").mkdir()
    async with talking() as talk:
        await talk.open(str(own / "app"), str(repository / "app"))
        assert await talk.say(f"{own}/lib/a.py and {own}/app/b.py") == (
            f"{repository}/lib/a.py and {repository}/app/b.py"
        )
        assert await talk.prompt(f"see {repository}/lib/a.py") == f"see {own}/lib/a.py"
        assert await talk.prompt(f"see {repository.parent}/other") == f"see {repository.parent}/other"


async def test_tool_servers_serve_the_folder_of_the_agent_where_they_were_to_serve_the_workspace(
    tmp_path: Path,
) -> None:
    workspace, folder = tmp_path / "home" / "app", tmp_path / "state" / "app"
    for top in (workspace, folder):
        (top / "src").mkdir(parents=True)
    program = str(workspace / "serve")
    server = {
        "name": "files",
        "command": program,
        "args": ["--rw", str(workspace), f"--root={workspace}/src", f"{workspace}/not-there", "/home"],
        "env": [{"name": "ROOTS", "value": f"{workspace}/src:/opt"}, {"name": "N", "value": "1"}],
    }
    remote = {"type": "http", "name": "far", "url": "https://example.org", "headers": []}
    async with talking() as talk:
        meta = {"portico": {"workspace": str(workspace)}}
        params = {"cwd": str(folder), "mcpServers": [server, remote], "_meta": meta}
        asked = await talk.call("session/new", params, {"sessionId": "s1"})
    assert asked["params"] == {
        **params,
        "mcpServers": [
            {
                **server,
                "args": ["--rw", str(folder), f"--root={folder}/src", f"{workspace}/not-there", "/home"],
                "env": [{"name": "ROOTS", "value": f"{folder}/src:/opt"}, {"name": "N", "value": "1"}],
            },
            remote,
        ],
    }


async def streamed(talk: Talk, *texts: str, kind: str = "agent_message_chunk") -> None:
    for text in texts:
        content = {"sessionUpdate": kind, "messageId": "m", "content": {"type": "text", "text": text}}
        params = {"sessionId": "s1", "update": content}
        talk.ends.agent.send(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))


async def heard_until_mark(talk: Talk) -> list[tuple[str, str]]:
    """Updates for the client up to a tool call: kind and text of each, joined while the kind is the same."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "mark", "title": "mark"}
    params = {"sessionId": "s1", "update": call}
    talk.ends.agent.send(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    heard: list[tuple[str, str]] = []
    while (update := (await talk.ends.client.receive())["params"]["update"])["sessionUpdate"] != "tool_call":
        assert update["messageId"] == "m"
        kind, text = update["sessionUpdate"], update["content"]["text"]
        if heard and heard[-1][0] == kind:
            heard[-1] = kind, heard[-1][1] + text
        else:
            heard.append((kind, text))
    return heard


@pytest.mark.parametrize("length", [1, 2, 3, 7, 20, 200])
async def test_a_path_that_comes_in_pieces_is_translated_as_a_whole(length: int) -> None:
    said = f"I changed {FOLDER}/a.py and/or {FOLDER}/b.py, not /state/portico or {FOLDER}-old. See /"
    expected = (
        f"I changed {WORKSPACE}/a.py and/or {WORKSPACE}/b.py, not /state/portico or {FOLDER}-old. See /"
    )
    async with talking() as talk:
        await talk.open()
        await streamed(talk, *(said[at : at + length] for at in range(0, len(said), length)))
        heard = await heard_until_mark(talk)
        assert "".join(text for _, text in heard) == expected


async def test_what_waits_for_its_rest_is_said_before_anything_else() -> None:
    async with talking() as talk:
        await talk.open()
        await streamed(talk, "thinking of /state/por", kind="agent_thought_chunk")
        await streamed(talk, "look at /state")
        assert await heard_until_mark(talk) == [
            ("agent_thought_chunk", "thinking of /state/por"),
            ("agent_message_chunk", "look at /state"),
        ]
        talk.ends.client.send(
            b'{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}'
        )
        await talk.ends.agent.receive()
        await streamed(talk, "the end is /")
        talk.ends.agent.send('{"jsonrpc":"2.0","id":9,"result":{"stopReason":"end_turn"}}')
        texts = [(await talk.ends.client.receive())["params"]["update"]["content"]["text"] for _ in range(2)]
        assert "".join(texts) == "the end is /"
        assert (await talk.ends.client.receive())["id"] == 9


@pytest.mark.parametrize(
    "text",
    [
        "{}-old/a.py",
        "{}2",
        "{}.bak",
        "{}é",
        "{}~",
        "/mnt{}/a.py",
        "file://{}-old",
        "file://{}%20old",
    ],
)
def test_a_name_that_only_looks_alike_is_left_alone(text: str) -> None:
    for ascii_only in (True, False):
        written = json.dumps(text.format(FOLDER), ensure_ascii=ascii_only).encode()
        assert PathRewriter([FOLDER], WORKSPACE)(written) == written


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}/",
        "{}.",
        "{}: no such file",
        "({})",
        "“{}”",
        "\n{}\n",
        "\x1b[32m{}\x1b[0m",
        "-I{}/include",
        "--cwd={}",
        '{{"path": "{}/a"}}',
        "{},{}",
        "{}/a:{}/b",
        "<{}>",
    ],
)
def test_a_path_ends_where_its_name_does(text: str) -> None:
    for ascii_only in (True, False):
        written = json.dumps(text.format(FOLDER, FOLDER), ensure_ascii=ascii_only).encode()
        assert json.loads(PathRewriter([FOLDER], WORKSPACE)(written)) == text.format(WORKSPACE, WORKSPACE)


def test_an_address_stays_an_address() -> None:
    folder, workspace = "/state/q 7/ö", "/home/mia/my app"
    replacing = PathRewriter([folder], workspace)
    expected = "file:///home/mia/my%20app/a%20b.py"
    for address in ("file:///state/q%207/%C3%B6/a%20b.py", "file:///state/q%207/%c3%b6/a%20b.py"):
        assert json.loads(replacing(json.dumps(address).encode())) == expected
        slashes = json.dumps(address).replace("/", "\\/").encode()
        assert json.loads(replacing(slashes)) == expected


@given(folder=_folders, workspace=_folders, ascii_only=st.booleans(), slashes=st.booleans())
def test_any_folder_becomes_any_other_and_the_rest_stays_as_it_is(
    folder: str, workspace: str, ascii_only: bool, slashes: bool
) -> None:
    written = json.dumps({"before": "kept", folder: [f"{folder}/a", folder]}, ensure_ascii=ascii_only)
    if slashes:
        written = written.replace("/", "\\/")
    replaced = json.loads(PathRewriter([folder], workspace)(written.encode()))
    assert replaced == {"before": "kept", workspace: [f"{workspace}/a", workspace]}
