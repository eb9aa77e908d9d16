"""Full-text search: what is found, in which order, and that the index follows the log."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Raw

from portico.domain.errors import ErrorCode
from portico.domain.events import (
    AnyPayload,
    ErrorReported,
    Event,
    Notice,
    PromptSubmitted,
    StateChanged,
    TextDelta,
    Thinking,
    ToolCompleted,
    ToolStarted,
)
from portico.domain.ids import SessionId
from portico.domain.search import MATCH_END, MATCH_START, SearchPage, SearchQuery
from portico.domain.turns import TurnState
from portico.domain.values import DiffPart, Location, TextPart
from portico.sessions.ports import Store
from portico.store.sqlite import SqliteStore
from portico.testing.store import MemoryStore
from tests.store.support import ALPHA, AT, BETA, bytes_left, event, opening

RUNNING = StateChanged(state=TurnState.RUNNING, previous=TurnState.IDLE)
DONE = StateChanged(state=TurnState.COMPLETED, previous=TurnState.RUNNING)


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    store = SqliteStore(tmp_path)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def on_disk(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    await store.open()
    yield store
    await store.close()


def talk(
    session_id: SessionId,
    *payloads: AnyPayload,
    workspace: str = "/work",
    agent: str = "porter",
    at: int = AT,
) -> list[Event]:
    all_payloads = (opening(workspace, agent=agent), *payloads)
    return [event(session_id, seq, payload, at=at + seq) for seq, payload in enumerate(all_payloads, 1)]


def found(page: SearchPage) -> list[tuple[str, int, str]]:
    return [(hit.session_id, hit.seq, hit.kind) for hit in page.hits]


async def search(store: Store, words: str, **more: object) -> list[tuple[str, int, str]]:
    """Search once everything is indexed, which a busy machine may take a while for."""
    while await store.index_for_search(seconds=1):
        pass
    return found(await store.search(SearchQuery(words=words, **more)))  # type: ignore[arg-type]


async def test_every_kind_of_message_is_found_at_its_first_event(store: Store) -> None:
    call = ToolStarted(
        tool_id="1",
        title="Run it",
        tool_kind="execute",
        status="pending",
        input=Raw(b'{"command":"make harbour"}'),
    )
    done = ToolCompleted(tool_id="1", success=True, duration_ms=1, content=(TextPart(text="harbour built"),))
    payloads: tuple[AnyPayload, ...] = (
        PromptSubmitted(text="Where is the harbour?"),
        Thinking(text="Perhaps the har"),
        Thinking(text="bour is near."),
        *[TextDelta(text=piece) for piece in ("The har", "bour is ", "here.")],
        call,
        done,
        Notice(level="info", text="The harbour closes."),
        ErrorReported(code=ErrorCode.INTERNAL, message="No harbour.", recoverable=True),
    )
    await store.append(talk(ALPHA, *payloads), durable=False)
    hits = await search(store, "harbour")
    assert hits == [
        (ALPHA, 11, "error"),
        (ALPHA, 10, "notice"),
        (ALPHA, 9, "tool"),
        (ALPHA, 8, "tool"),
        (ALPHA, 5, "answer"),
        (ALPHA, 3, "thought"),
        (ALPHA, 2, "prompt"),
    ]


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        ("anchor chain", True),
        ("chain anchor", True),
        ("ANCHOR", True),
        ("anch", True),
        ("nchor", False),
        ("anchor rope", False),
        ("drop_anchor", True),
        ("café", True),
        ("cafe", True),
        ('"anchor"', True),
        ("anchor AND", False),
        ("NEAR(anchor", False),
        ("->", False),
        ("-> anchor", True),
        ("", False),
        ("*", False),
        ("paths:anchor", False),
        pytest.param("anchor\0 chain", True, id="the end of a C string"),
        pytest.param("anchor \udcff", True, id="no character"),
        pytest.param("anchor " * 100_000, True, id="too many words"),
    ],
)
async def test_all_words_must_be_there_and_none_is_an_operator(
    store: Store, words: str, *, is_found: bool
) -> None:
    await store.append(
        talk(ALPHA, PromptSubmitted(text="near: drop_anchor at the Café; the chain -> holds")), durable=False
    )
    assert bool(await search(store, words)) == is_found


async def test_a_snippet_marks_what_was_found(store: Store) -> None:
    await store.append(
        talk(ALPHA, PromptSubmitted(text="boats " * 200 + "anchor " + "ropes " * 200)), durable=False
    )
    page = await store.search(SearchQuery(words="anchor"))
    assert f"{MATCH_START}anchor{MATCH_END}" in page.hits[0].snippet
    assert len(page.hits[0].snippet) < 300


async def test_a_search_is_narrowed_by_folder_agent_time_and_file(store: Store) -> None:
    edit = ToolStarted(
        tool_id="1",
        title="Edit the anchor",
        tool_kind="edit",
        status="pending",
        locations=(Location(path="/quay/src/anchor.py"),),
        content=(DiffPart(path="/quay/docs/guide.md", new_text=""),),
    )
    await store.append(talk(ALPHA, PromptSubmitted(text="anchor"), at=AT), durable=False)
    await store.append(talk(BETA, edit, workspace="/quay", agent="other", at=AT + 1_000), durable=False)
    assert await search(store, "anchor", workspace="/work") == [(ALPHA, 2, "prompt")]
    assert await search(store, "anchor", agent="other") == [(BETA, 2, "tool")]
    assert await search(store, "anchor", since_ms=AT + 500) == [(BETA, 2, "tool")]
    assert await search(store, "anchor", until_ms=AT + 500) == [(ALPHA, 2, "prompt")]
    assert await search(store, "anchor", path="src/anchor.py") == [(BETA, 2, "tool")]
    assert await search(store, "", path="guide.md") == [(BETA, 2, "tool")]
    assert await search(store, "anchor", path="src/chain.py") == []


async def test_hits_come_in_pages_newest_first(store: Store) -> None:
    payloads: list[AnyPayload] = [opening("/work")]
    payloads += [PromptSubmitted(text=f"boat {number}") for number in range(5)]
    # All at the same time, as in a log that was imported.
    await store.append(
        [event(ALPHA, seq, one, at=AT) for seq, one in enumerate(payloads, 1)],
        durable=False,
    )
    first = await store.search(SearchQuery(words="boat", limit=3))
    rest = await store.search(SearchQuery(words="boat", limit=3, before=first.hits[-1].number))
    assert [seq for _, seq, _ in found(first) + found(rest)] == [6, 5, 4, 3, 2]
    assert (first.more, rest.more) == (True, False)


async def test_a_deleted_session_is_found_no_more(store: Store) -> None:
    await store.append(talk(ALPHA, PromptSubmitted(text="anchor")), durable=False)
    assert await search(store, "anchor")
    await store.delete(ALPHA)
    assert await search(store, "anchor") == []


async def test_nothing_of_a_deleted_session_is_left_in_the_file(on_disk: SqliteStore, tmp_path: Path) -> None:
    secret = "xylophonequarterdeck"
    await on_disk.append(talk(ALPHA, PromptSubmitted(text=f"{secret} anchor")), durable=False)
    await on_disk.append(talk(BETA, PromptSubmitted(text="anchor")), durable=False)
    assert len(await search(on_disk, "anchor")) == 2
    await on_disk.delete(ALPHA)
    left = bytes_left(tmp_path, "search.db")
    assert secret.encode() not in left
    assert b"xylophone" not in left
    assert await search(on_disk, "anchor") == [(BETA, 2, "prompt")]


async def test_a_session_that_was_deleted_behind_its_back_is_forgotten(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    await store.append(talk(ALPHA, PromptSubmitted(text="anchor")), durable=False)
    assert await search(store, "anchor")
    await store.close()
    (tmp_path / "search.db").rename(tmp_path / "aside")
    store = SqliteStore(tmp_path)
    await store.open()
    await store.delete(ALPHA)
    await store.close()
    (tmp_path / "aside").rename(tmp_path / "search.db")
    store = SqliteStore(tmp_path)
    await store.open()
    assert await search(store, "anchor") == []
    await store.close()


async def test_an_answer_that_still_grows_is_found_whole_when_it_has_ended(on_disk: SqliteStore) -> None:
    events = talk(
        ALPHA,
        RUNNING,
        PromptSubmitted(text="go"),
        TextDelta(text="The anc"),
        TextDelta(text="hor holds."),
        DONE,
    )
    await on_disk.append(events[:4], durable=False)
    assert await search(on_disk, "anc") == []
    await on_disk.append(events[4:5], durable=False)
    assert await search(on_disk, "anchor") == []
    await on_disk.append(events[5:], durable=False)
    assert await search(on_disk, "anchor") == [(ALPHA, 4, "answer")]


@pytest.mark.parametrize(("pieces", "size"), [(4_500, 1), (60, 4_000), (1, 50_000)])
async def test_all_of_a_long_answer_is_found(on_disk: SqliteStore, pieces: int, size: int) -> None:
    texts = [
        TextDelta(text=f"first{number} " + "boats " * size + f"last{number} ") for number in range(pieces)
    ]
    await on_disk.append(talk(ALPHA, *texts, DONE), durable=False)
    for words in ("first0", "last0", f"first{pieces - 1}", f"last{pieces - 1}"):
        assert len(await search(on_disk, words)) == 1


async def test_a_search_says_how_much_waits_and_goes_on_from_there(on_disk: SqliteStore) -> None:
    for number in range(30):
        await on_disk.append(
            talk(SessionId(f"s{number:02}"), PromptSubmitted(text="anchor"), at=AT + number), durable=False
        )
    assert await on_disk.index_for_search(seconds=0) == 60
    assert await on_disk.index_for_search(seconds=30) == 0
    assert len(await search(on_disk, "anchor")) == 30


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough for a header" * 99])
async def test_an_index_that_cannot_be_used_is_made_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "search.db").write_bytes(content)
    store = SqliteStore(tmp_path)
    await store.open()
    await store.append(talk(ALPHA, PromptSubmitted(text="anchor")), durable=False)
    assert await search(store, "anchor") == [(ALPHA, 2, "prompt")]
    await store.close()


async def test_two_processes_index_one_log_once(tmp_path: Path) -> None:
    one, two = SqliteStore(tmp_path), SqliteStore(tmp_path)
    await one.open()
    await two.open()
    await one.append(talk(ALPHA, PromptSubmitted(text="anchor")), durable=False)
    assert await search(one, "anchor") == [(ALPHA, 2, "prompt")]
    assert await search(two, "anchor") == [(ALPHA, 2, "prompt")]
    await two.append([event(ALPHA, 3, PromptSubmitted(text="anchor again"), at=AT + 9)], durable=False)
    assert len(await search(one, "anchor")) == len(await search(two, "anchor")) == 2
    await one.close()
    await two.close()


async def test_the_index_is_readable_by_its_owner_alone(on_disk: SqliteStore, tmp_path: Path) -> None:
    await search(on_disk, "anchor")
    assert (tmp_path / "search.db").stat().st_mode & 0o777 == 0o600
