"""The call that searches all messages: what it finds, how it narrows the search, and how its pages join."""

from pathlib import Path

import pytest
from protobuf.wkt import Timestamp

from portico.acp import _schema as acp
from portico.api.v1 import agent_pb as pb
from tests.doors.api.test_calls import NOBODY, Calls, calls
from tests.sessions.support import FakeAgent


async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("The lighthouse stands by the harbour.")


async def talk(door: Calls, *prompts: str) -> None:
    await door.start()
    for prompt in prompts:
        await door.invoke(text=prompt)


async def search(door: Calls, words: str, **narrower: object) -> pb.SearchSessionsResponse:
    request = pb.SearchSessionsRequest(words=words, **narrower)  # type: ignore[arg-type]
    return await door.service.search_sessions(request, NOBODY)


async def test_a_message_is_found_with_its_session_and_its_match(tmp_path: Path) -> None:
    async with calls(answer, tmp_path) as door:
        await talk(door, "Where is the lighthouse?")
        found = await search(door, "harb")
        (hit,) = found.hits
        assert (hit.session_id, hit.kind.name) == (door.session_id, "ANSWER")
        assert [part.text for part in hit.snippet if part.is_match] == ["harbour"]
        assert [one.session_id for one in found.sessions] == [door.session_id]
        assert (found.more, found.pending) == (False, 0)
        assert [one.kind.name for one in (await search(door, "lighthouse")).hits] == ["ANSWER", "PROMPT"]


async def test_pages_join_without_a_gap(tmp_path: Path) -> None:
    async with calls(answer, tmp_path) as door:
        await talk(door, "First tide", "Second tide", "Third tide")
        first = await search(door, "tide", limit=2)
        assert (len(first.hits), first.more) == (2, True)
        rest = await search(door, "tide", limit=2, before=first.hits[-1].number)
        assert (len(rest.hits), rest.more) == (1, False)
        words = ["".join(part.text for part in hit.snippet) for hit in (*first.hits, *rest.hits)]
        assert words == ["Third tide", "Second tide", "First tide"]


@pytest.mark.parametrize(
    "narrower",
    [
        {"agent": "another"},
        {"workspace": "/elsewhere"},
        {"path": "boats.py"},
        {"since": Timestamp(seconds=4_000_000_000)},
        {"until": Timestamp(seconds=1)},
    ],
)
async def test_what_narrows_the_search_leaves_the_others_out(
    tmp_path: Path, narrower: dict[str, object]
) -> None:
    async with calls(answer, tmp_path) as door:
        await talk(door, "Where is the lighthouse?")
        assert len((await search(door, "lighthouse")).hits) == 2
        assert (await search(door, "lighthouse", **narrower)).hits == []
