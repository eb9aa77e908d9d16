"""Promises of every store, tested on disk, in a database, and in memory."""

import asyncio

import msgspec
import pytest
from msgspec import Raw

from portico.domain import codecs
from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import (
    AnyPayload,
    CommandsUpdated,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    StateChanged,
    TextDelta,
    TitleUpdated,
    ToolStarted,
    UsageUpdated,
)
from portico.domain.ids import SessionId
from portico.domain.session_summary import fold
from portico.domain.turns import TurnState
from portico.domain.values import AgentCommand, AgentSession
from portico.sessions.ports import Store
from tests.store.support import ALPHA, AT, BETA, deltas, event, opening, session, started


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


async def test_what_was_appended_is_read_back_in_order(store: Store) -> None:
    events = session(length=7)
    await store.append(events[:1], durable=False)
    await store.append(events[1:3], durable=True)
    await store.append(events[3:], durable=False)
    assert await store.read(ALPHA, after_seq=0, limit=100) == events


async def test_reading_goes_on_after_a_number_and_stops_at_the_limit(store: Store) -> None:
    events = session(length=9)
    await store.append(events, durable=False)
    assert await store.read(ALPHA, after_seq=3, limit=2) == events[3:5]
    assert await store.read(ALPHA, after_seq=9, limit=2) == []
    assert await store.read(ALPHA, after_seq=0, limit=0) == []
    assert await store.read(ALPHA, after_seq=0, limit=-1) == []
    assert await store.read(ALPHA, after_seq=-5, limit=1) == events[:1]


async def test_reading_stops_behind_the_event_with_which_there_is_enough(store: Store) -> None:
    sizes = (10, 5_000, 10, 10, 9_000, 10)
    events = [
        started(),
        *(event(ALPHA, seq, TextDelta(text="x" * size)) for seq, size in enumerate(sizes, 2)),
    ]
    await store.append(events, durable=False)
    assert await store.read(ALPHA, after_seq=1, limit=9, max_bytes=5_000) == events[1:3]
    assert await store.read(ALPHA, after_seq=2, limit=9, max_bytes=1) == events[2:3]
    assert await store.read(ALPHA, after_seq=1, limit=1, max_bytes=5_000) == events[1:2]
    assert await store.read(ALPHA, after_seq=3, limit=9, max_bytes=5_000) == events[3:6]
    assert await store.read(ALPHA, after_seq=0, limit=9, max_bytes=1_000_000) == events


async def test_a_session_is_paged_backwards_from_its_tail(store: Store) -> None:
    events = session(length=8)
    await store.append(events, durable=False)
    last = await store.tail(ALPHA, before_seq=None, limit=3)
    middle = await store.tail(ALPHA, before_seq=last[0].seq, limit=3)
    first = await store.tail(ALPHA, before_seq=middle[0].seq, limit=3)
    assert first + middle + last == events
    assert await store.tail(ALPHA, before_seq=1, limit=3) == []
    assert await store.tail(ALPHA, before_seq=-1, limit=3) == []
    assert await store.tail(ALPHA, before_seq=99, limit=1) == events[-1:]
    assert await store.tail(ALPHA, before_seq=None, limit=0) == []
    assert await store.tail(ALPHA, before_seq=None, limit=-1) == []


async def test_an_unknown_session_is_empty(store: Store) -> None:
    assert await store.read(ALPHA, after_seq=0, limit=5) == []
    assert await store.tail(ALPHA, before_seq=None, limit=5) == []
    assert await store.summary(ALPHA) is None
    assert await store.delete(ALPHA) is False


async def test_an_empty_batch_changes_nothing(store: Store) -> None:
    await store.append([], durable=True)
    assert await store.summaries() == []


async def test_sessions_do_not_see_each_other(store: Store) -> None:
    await store.append(session(ALPHA, length=3), durable=False)
    await store.append(session(BETA, length=2), durable=False)
    await store.append(deltas(ALPHA, 4, 1), durable=False)
    assert [each.session_id for each in await store.read(ALPHA, after_seq=0, limit=9)] == [ALPHA] * 4
    assert [each.session_id for each in await store.tail(BETA, before_seq=None, limit=9)] == [BETA] * 2


@pytest.mark.parametrize(
    "payload",
    [
        TextDelta(text="nul \x00, line \u2028, beyond the plane \U0001f6aa"),
        TextDelta(text="", message_id="m"),
        PromptSubmitted(text="look", blocks=(Raw(b'{"b": 1,  "a": [1.50]}'), Raw(b"null"))),
        ToolStarted(
            tool_id="1",
            title="t",
            tool_kind="read",
            status="pending",
            input=Raw(b'{"z": 1.0, "z2":  "\\u0041"}'),
        ),
        Notice(level="info", text="strange", source="agent", raw=Raw(b'["as", "sent"]')),
    ],
)
async def test_a_payload_comes_back_exactly_as_it_was(store: Store, payload: AnyPayload) -> None:
    await store.append([started(), event(ALPHA, 2, payload)], durable=False)
    assert (await store.tail(ALPHA, before_seq=None, limit=1))[0].payload == payload
    assert await store.verify() == []


async def test_a_megabyte_in_one_event_is_kept(store: Store) -> None:
    large = event(ALPHA, 2, TextDelta(text="m" * 1_000_000))
    await store.append([started(), large], durable=False)
    assert await store.read(ALPHA, after_seq=1, limit=1) == [large]


@pytest.mark.parametrize("first", [2, 3, 5, 6], ids=lambda first: f"from {first}")
async def test_a_batch_that_does_not_continue_the_log_is_refused_whole(store: Store, first: int) -> None:
    await store.append(session(length=3), durable=False)
    with pytest.raises(StoreFailed):
        await store.append(deltas(ALPHA, first, 4), durable=False)
    assert len(await store.read(ALPHA, after_seq=0, limit=99)) == 3
    await store.append(deltas(ALPHA, 4, 1), durable=False)
    assert await store.verify() == []


async def test_a_writer_that_is_behind_hears_that_another_process_went_on(store: Store) -> None:
    await store.append(session(length=3), durable=False)
    with pytest.raises(StoreFailed, match="Another process continued session alpha") as caught:
        await store.append(deltas(ALPHA, 3, 1), durable=False)
    assert caught.value.suggestion


async def test_a_batch_with_a_hole_inside_is_refused_whole(store: Store) -> None:
    with pytest.raises(StoreFailed):
        await store.append([started(), *deltas(ALPHA, 3, 1)], durable=False)
    assert await store.summary(ALPHA) is None


async def test_a_batch_of_two_sessions_is_refused_whole(store: Store) -> None:
    with pytest.raises(StoreFailed):
        await store.append([started(ALPHA), *deltas(BETA, 2, 1)], durable=False)
    assert await store.summaries() == []


async def test_a_session_that_does_not_begin_with_its_start_is_refused(store: Store) -> None:
    with pytest.raises(StoreFailed, match="session_started"):
        await store.append(deltas(ALPHA, 1, 2), durable=False)
    assert await store.summaries() == []


async def test_text_that_is_not_unicode_is_refused_and_the_session_goes_on(store: Store) -> None:
    await store.append([started()], durable=False)
    with pytest.raises(StoreFailed, match="cannot be written as JSON"):
        await store.append([event(ALPHA, 2, TextDelta(text="\ud800"))], durable=False)
    await store.append(deltas(ALPHA, 2, 1), durable=False)
    assert await store.verify() == []


async def test_of_two_appends_at_once_with_the_same_numbers_one_wins(store: Store) -> None:
    await store.append([started()], durable=False)
    results = await asyncio.gather(
        *(store.append(deltas(ALPHA, 2, 2, text=text), durable=False) for text in ("left ", "right ")),
        return_exceptions=True,
    )
    assert [type(result) for result in results if result] == [StoreFailed]
    assert len(await store.read(ALPHA, after_seq=0, limit=9)) == 3
    assert await store.verify() == []


async def test_the_summary_is_the_fold_of_the_events(store: Store) -> None:
    events = [
        started(workspace="/somewhere"),
        event(ALPHA, 2, PromptSubmitted(text="please\nlook")),
        event(
            ALPHA,
            3,
            StateChanged(
                state=TurnState.RUNNING,
                previous=TurnState.IDLE,
                agent_session=AgentSession(agent_session_id="theirs", attached_by="new"),
            ),
        ),
        event(ALPHA, 4, TitleUpdated(title="A look")),
        event(ALPHA, 5, opening("/somewhere", agent="other", agent_command=("a", "b c"))),
    ]
    await store.append(events[:2], durable=False)
    await store.append(events[2:], durable=False)
    expected = None
    for each in events:
        expected = fold(expected, each)
    assert expected is not None
    assert await store.summary(ALPHA) == expected
    assert await store.summaries() == [expected]
    assert (expected.title, expected.state, expected.agent_command) == (
        "A look",
        TurnState.RUNNING,
        ("a", "b c"),
    )


async def test_sessions_are_listed_by_their_last_change_newest_first(store: Store) -> None:
    for name, at in (("a", AT + 1), ("b", AT + 3), ("c", AT + 3), ("d", AT + 2)):
        await store.append([started(SessionId(name), at=at)], durable=False)
    assert [each.session_id for each in await store.summaries()] == ["c", "b", "d", "a"]
    assert [each.session_id for each in await store.summaries(limit=2)] == ["c", "b"]
    assert await store.summaries(limit=0) == []
    await store.append([event(SessionId("a"), 2, TextDelta(text="late"), at=AT + 9)], durable=False)
    assert [each.session_id for each in await store.summaries()] == ["a", "c", "b", "d"]


async def test_sessions_are_found_by_workspace_and_by_the_beginning_of_their_id(store: Store) -> None:
    for name, workspace in (("0ab1", "/one"), ("0ab2", "/two"), ("0b", "/one"), ("%ab", "/one")):
        await store.append([started(SessionId(name), workspace=workspace)], durable=False)

    async def found(workspace: str | None, prefix: str) -> set[str]:
        return {each.session_id for each in await store.summaries(workspace=workspace, id_prefix=prefix)}

    assert await found("/one", "") == {"0ab1", "0b", "%ab"}
    assert await found(None, "0a") == {"0ab1", "0ab2"}
    assert await found("/one", "0a") == {"0ab1"}
    assert await found(None, "0ab1") == {"0ab1"}
    assert await found(None, "%") == {"%ab"}
    assert await found(None, "_") == set()
    assert await found("/three", "") == set()


async def test_sessions_with_a_turn_under_way_are_found(store: Store) -> None:
    for state in TurnState:
        name = SessionId(f"in-{state}")
        change = StateChanged(state=state, previous=TurnState.IDLE)
        await store.append([started(name), event(name, 2, change)], durable=False)
    assert await store.active_sessions() == sorted(f"in-{state}" for state in TurnState if state.active)


async def test_a_deleted_session_is_gone_with_all_its_events_and_no_other(store: Store) -> None:
    await store.append(session(ALPHA, length=5), durable=False)
    await store.append(session(BETA, length=5), durable=False)
    assert await store.delete(ALPHA) is True
    assert await store.delete(ALPHA) is False
    assert await store.read(ALPHA, after_seq=0, limit=9) == []
    assert await store.summary(ALPHA) is None
    assert len(await store.read(BETA, after_seq=0, limit=9)) == 5
    assert await store.verify() == []


async def test_a_deleted_session_can_begin_anew_but_not_go_on(store: Store) -> None:
    await store.append(session(length=5), durable=False)
    await store.delete(ALPHA)
    with pytest.raises(StoreFailed, match="no session alpha"):
        await store.append(deltas(ALPHA, 6, 1), durable=False)
    await store.append(session(length=2), durable=False)
    assert len(await store.read(ALPHA, after_seq=0, limit=9)) == 2
    assert await store.verify() == []


async def test_a_lease_has_one_holder_whom_others_can_name(store: Store) -> None:
    assert await store.lease_holder("tree /work") is None
    lease = await store.lease("tree /work", "exec, session alpha")
    assert lease is not None
    assert await store.lease("tree /work", "somebody else") is None
    assert await store.lease_holder("tree /work") == "exec, session alpha"
    assert await store.lease_holder("tree /other") is None


async def test_a_released_lease_can_be_taken_again(store: Store) -> None:
    first = await store.lease("session alpha", "first")
    assert first is not None
    first.release()
    assert await store.lease_holder("session alpha") is None
    second = await store.lease("session alpha", "second")
    assert second is not None
    first.release()
    assert await store.lease_holder("session alpha") == "second"
    second.release()
    assert await store.lease_holder("session alpha") is None


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a/b\\c:d", "ü" * 500, "nul\x00", "\ud800"])
async def test_a_lease_may_have_any_name(store: Store, name: str) -> None:
    lease = await store.lease(name, "holder \ud800")
    assert lease is not None
    assert await store.lease(name, "other") is None
    assert (await store.lease_holder(name) or "").startswith("holder")
    lease.release()


async def test_summaries_are_values_that_go_to_json(store: Store) -> None:
    await store.append([started()], durable=False)
    (summary,) = await store.summaries()
    assert codecs.decode_json(msgspec.json.encode(summary), type(summary)) == summary


async def test_how_things_stand_is_the_last_event_of_each_such_kind(store: Store) -> None:
    await store.append(session(length=1), durable=False)
    said: list[AnyPayload] = [
        CommandsUpdated(commands=(AgentCommand(name="old", description=""),)),
        UsageUpdated(used=1),
        CommandsUpdated(commands=(AgentCommand(name="new", description=""),)),
        TextDelta(text="and so on"),
        UsageUpdated(used=2),
    ]
    await store.append([event(ALPHA, seq, one) for seq, one in enumerate(said, start=2)], durable=False)
    found = {one.kind: one for one in await store.standing(ALPHA)}
    assert {kind: one.seq for kind, one in found.items()} == {"usage_updated": 6, "commands_updated": 4}
    assert found["commands_updated"].payload == said[2]
    assert await store.standing(BETA) == []


async def test_permission_events_are_found_among_all_others(store: Store) -> None:
    await store.append(session(length=1), durable=False)
    asked = PermissionRequested(request_id="p1", tool_id="t", title="Run it", options=(), tool_kind="execute")
    resolved = PermissionResolved(
        request_id="p1", outcome="denied", by="person", option_id=None, scope="once"
    )
    said: list[AnyPayload] = [TextDelta(text="first"), asked, TextDelta(text="then"), resolved]
    await store.append([event(ALPHA, seq, one) for seq, one in enumerate(said, start=2)], durable=False)
    started, *permissions = [one.payload for one in await store.permission_events(ALPHA)]
    assert (started.kind, permissions) == ("session_started", [asked, resolved])
    assert await store.permission_events(BETA) == []


async def test_a_desk_is_kept_until_it_is_cleared_or_its_session_is_deleted(store: Store) -> None:
    await store.append(session(length=2), durable=False)
    picture = Raw(b'{"type":"image","data":"AAAA"}')
    desk = SessionDraft(
        draft="a word", client_id="c", queue=(QueuedPrompt(prompt_id="q1", text="x", blocks=(picture,)),)
    )
    assert await store.draft(ALPHA) == SessionDraft()
    await store.save_drafts(ALPHA, desk)
    assert await store.draft(ALPHA) == desk
    assert await store.drafted() == {ALPHA}
    await store.save_drafts(ALPHA, SessionDraft(draft=" \n", revision=2))
    assert await store.drafted() == frozenset()
    await store.save_drafts(ALPHA, desk)
    await store.delete(ALPHA)
    assert await store.draft(ALPHA) == SessionDraft()


async def test_every_change_makes_another_generation(store: Store) -> None:
    seen = [await store.generation()]
    assert await store.generation() == seen[0]
    await store.append(session(length=2), durable=False)
    seen.append(await store.generation())
    await store.save_drafts(ALPHA, SessionDraft(draft="a"))
    seen.append(await store.generation())
    await store.delete(ALPHA)
    seen.append(await store.generation())
    assert len(set(seen)) == 4


async def test_sessions_are_found_by_words_and_paged(store: Store) -> None:
    for place in range(5):
        name = SessionId(f"s{place}")
        opened = started(name, at=AT + place)
        titled = event(
            name,
            2,
            TitleUpdated(title=f"Mend the {'Roof' if place % 2 else 'cellar'} {place}"),
            at=AT + place,
        )
        await store.append([opened, titled], durable=False)
    found = [one.session_id for one in await store.summaries(search="ROOF mend")]
    assert found == ["s3", "s1"]
    assert await store.summaries(search="mend attic") == []
    assert await store.summaries(search=" ".join(f"word{number}" for number in range(5_000))) == []
    first = [one.session_id for one in await store.summaries(limit=2)]
    second = [one.session_id for one in await store.summaries(limit=2, before=SessionId("s3"))]
    assert (first, second) == (["s4", "s3"], ["s2", "s1"])
    assert await store.summaries(before=SessionId("nobody")) == []


async def test_a_copy_has_all_events_of_its_source_and_goes_its_own_way(store: Store) -> None:
    events = session(length=5)
    await store.append(events, durable=False)
    await store.copy(ALPHA, [event(BETA, 6, TextDelta(text="on its own"))])
    copied = await store.read(BETA, after_seq=0, limit=100)
    assert [(one.seq, one.at, one.turn_id, one.payload) for one in copied[:-1]] == [
        (one.seq, one.at, one.turn_id, one.payload) for one in events
    ]
    assert {one.session_id for one in copied} == {BETA}
    await store.append([event(ALPHA, 6, TextDelta(text="here"))], durable=False)
    await store.append([event(BETA, 7, TextDelta(text="there"))], durable=False)
    summary = await store.summary(BETA)
    assert summary is not None
    assert (summary.session_id, summary.last_seq) == (BETA, 7)
    assert (await store.read(ALPHA, after_seq=0, limit=100))[:5] == events
    assert await store.verify() == []


async def test_a_source_that_moved_on_or_is_not_there_is_not_copied(store: Store) -> None:
    await store.append(session(length=5), durable=False)
    for source, seq in ((ALPHA, 5), (ALPHA, 7), (SessionId("nobody"), 1)):
        with pytest.raises(StoreFailed, match="changed just now"):
            await store.copy(source, [event(BETA, seq, TextDelta(text="late"))])
    assert await store.summary(BETA) is None
    assert await store.read(BETA, after_seq=0, limit=100) == []


async def test_a_copy_takes_the_place_of_no_other_session(store: Store) -> None:
    await store.append(session(length=3), durable=False)
    other = session(BETA, length=2)
    await store.append(other, durable=False)
    with pytest.raises(StoreFailed):
        await store.copy(ALPHA, [event(BETA, 4, TextDelta(text="mine"))])
    assert await store.read(BETA, after_seq=0, limit=100) == other
    assert await store.verify() == []
