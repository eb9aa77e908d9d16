"""Turns of a session in an ACP editor, when a step of the review fails."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.errors import StoreFailed
from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.editors.files import LocalFiles
from portico.review.acp.turns import EditorTurns
from portico.review.acp.working_copy_files import EditorBuffers, WorkingCopyFiles
from portico.review.acp.working_copy_proxy import ReviewedSession
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock

FAILURE = StoreFailed("The disk is full.", suggestion="Make room.")


class Conversation:
    """An editor that applies every proposal, and the turns of a session in proposal mode that it shows."""

    def __init__(self, work: Path, reviews: ReviewService) -> None:
        self.work = work
        self.reviews = reviews
        self.shown: list[acp.SessionUpdate] = []

    async def open(self) -> EditorTurns:
        review = await self.reviews.open("s1", self.work, "proposal")
        self.folder = review.folder
        session = ReviewedSession(
            agent_session_id="a1",
            session_id=SessionId("s1"),
            workspace=self.work,
            review=review,
            files=WorkingCopyFiles(self.work, review.folder, LocalFiles, review.adopt),
        )
        return EditorTurns(session, self.reviews, self.shown.append, self._apply)

    async def finish(self, turns: EditorTurns) -> None:
        buffers = EditorBuffers(self._apply, acp.FileSystemCapabilities())
        await turns.finish(buffers, asyncio.Event(), asks=True)

    @property
    def titles(self) -> list[str]:
        return [one.title for one in self.shown if isinstance(one, acp.ToolCall)]

    async def _apply(self, method: str, params: acp.Wire) -> Raw:
        return Raw(b'{"outcome":{"outcome":"selected","optionId":"portico:apply"}}')


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    return Conversation(work, ReviewService.at(tmp_path / "state", os.environ, ManualClock()))


async def fail(*_: object, **__: object) -> Sequence[AnyPayload]:
    raise FAILURE


@pytest.mark.parametrize("failing", ["note_files", "changed_outside"])
async def test_changes_are_proposed_when_the_files_outside_cannot_be_compared(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    turns = await conversation.open()
    monkeypatch.setattr(conversation.reviews, failing, fail)
    await turns.begin("change a.txt")
    (conversation.folder / "a.txt").write_text("two\n")
    await conversation.finish(turns)
    assert (conversation.work / "a.txt").read_text() == "two\n"
    warning, proposal = conversation.titles
    assert warning.endswith(FAILURE.message)
    assert proposal.startswith("Proposed changes")


async def test_changes_that_could_not_be_collected_are_proposed_after_the_next_turn(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = await conversation.open()
    await turns.begin("change a.txt")
    (conversation.folder / "a.txt").write_text("two\n")
    with monkeypatch.context() as patch:
        patch.setattr(turns.session.review, "end_turn", fail)
        await conversation.finish(turns)
    assert conversation.titles == [f"The changes of this turn could not be collected. {FAILURE.message}"]
    await turns.begin("go on")
    await conversation.finish(turns)
    assert (conversation.work / "a.txt").read_text() == "two\n"


async def test_a_turn_does_not_begin_without_its_working_copy(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = await conversation.open()
    monkeypatch.setattr(turns.session.review, "begin_turn", fail)
    with pytest.raises(StoreFailed):
        await turns.begin("change a.txt")
    (conversation.work / "a.txt").write_text("mine\n")
    monkeypatch.undo()
    await turns.begin("try again")
    await conversation.finish(turns)
    assert conversation.titles == [], "The user's own edit between two turns is not the agent's."
