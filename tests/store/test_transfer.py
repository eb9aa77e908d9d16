"""Copies of a whole log from one store to another."""

from portico.domain.drafts import SessionDraft
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.store.transfer import TransferReport, copy_all
from portico.testing.store import MemoryStore
from tests.store.support import ALPHA, BETA, deltas, event, session


def ignore(_: TransferReport) -> None:
    """No progress is shown."""


async def test_a_copy_has_every_session_with_its_draft_and_goes_on_where_it_ended() -> None:
    source, target = MemoryStore(), MemoryStore()
    names = [SessionId(f"s{number}") for number in range(450)]
    for name in names:
        await source.append(session(name, length=3), durable=True)
    await source.save_drafts(names[7], SessionDraft(draft="half a thought"))
    await target.append(session(names[3], length=2), durable=True)
    seen: list[int] = []
    report = await copy_all(source, target, lambda done: seen.append(done.events))
    assert (report.sessions, report.events, report.unchanged, report.problems) == (450, 450 * 3 - 2, 0, [])
    assert len(seen) == 450
    assert {one.session_id for one in await target.summaries(limit=999)} == set(names)
    assert (await target.draft(names[7])).draft == "half a thought"
    await source.append(deltas(names[0], 4, 2), durable=True)
    again = await copy_all(source, target, ignore)
    assert (again.sessions, again.events, again.unchanged) == (1, 2, 449)
    assert await target.verify() == []


async def test_a_session_that_went_on_in_the_target_is_left_out_and_named() -> None:
    source, target = MemoryStore(), MemoryStore()
    for store in (source, target):
        await store.append(session(ALPHA, length=3), durable=True)
    await source.append(session(BETA, length=2), durable=True)
    await target.append([event(ALPHA, 4, TextDelta(text="elsewhere"))], durable=True)
    await source.append([event(ALPHA, 4, TextDelta(text="here"))], durable=True)
    report = await copy_all(source, target, ignore)
    assert (report.sessions, len(report.problems)) == (1, 1)
    assert "session alpha: the target has another session of this id" in report.problems[0]
    assert (await target.tail(ALPHA, before_seq=None, limit=1))[0].payload == TextDelta(text="elsewhere")
