"""Calls of the contract about changes, on a host in memory and real files: proposals, checkpoints, modes."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from portico.acp import _schema as acp
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.chains.reviews import open_reviews
from portico.domain.errors import InvalidInput, PermissionDenied, SessionBusy, SessionNotFound
from portico.domain.events import CheckpointCreated, CheckpointRestored, Event, ProposalUpdated
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.doors.api.service import ApiService
from portico.review.local_reviews import LocalReviews
from portico.sessions.ports import Ports
from portico.sessions.service import SessionService
from portico.testing.memory_agent import NoEditorProvider
from portico.testing.store import MemoryStore
from tests.doors.api.test_calls import NOBODY, Here
from tests.sessions.support import FakeAgent, World

Result = TypeVar("Result")
Work = Callable[[Path], None]


class ProposesFirst(Here):
    async def mode(self, workspace: Path) -> ReviewMode:
        return "proposal"

    async def has_mode(self, workspace: Path) -> bool:
        return True


class Reviewed:
    """A door over real reviews, and an agent that does to its folder what a test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work: Work = lambda _: None
        self.gate: asyncio.Event | None = None
        self.store = MemoryStore()
        self.host = World(FakeAgent(self._answer), folder, store=self.store, editors=NoEditorProvider())
        reviews = open_reviews(dict(os.environ), self.host.clock)
        self.ports: Ports = msgspec.structs.replace(self.host.ports, reviews=reviews)
        self.service = SessionService(self.ports)
        here: Any = ProposesFirst(folder)
        desk = LocalReviews(self.service, self.ports, reviews)
        self.door = ApiService(self.service, self.ports, desk, here, asyncio.Event())
        self.session_id = ""

    async def _answer(self, agent: FakeAgent, request: acp.PromptRequest) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.work(Path(agent.openings[-1].cwd))

    async def start(self, mode: pb.ReviewMode = pb.ReviewMode.UNSPECIFIED) -> pb.SessionDetail:
        answer = await self.door.start_session(pb.StartSessionRequest(mode=mode), NOBODY)
        assert answer.session is not None
        assert answer.session.summary is not None
        self.session_id = answer.session.summary.session_id
        return answer.session

    async def turn(self, work: Work) -> None:
        self.work = work

        async def read() -> None:
            request = pb.InvokeRequest(session_id=self.session_id, text="do it")
            async for _ in self.door.invoke(request, NOBODY):
                pass

        await self.ticking(read())

    async def ticking(self, work: Coroutine[Any, Any, Result]) -> Result:
        task = asyncio.create_task(work)
        async with asyncio.timeout(30):
            while not task.done():
                await self.host.clock.advance(0.017)
                await asyncio.wait((task,), timeout=0.001)
        return await task

    async def proposal(self) -> events_pb.ProposalUpdated:
        answer = await self.door.get_proposal(pb.GetProposalRequest(session_id=self.session_id), NOBODY)
        (found,) = answer.proposals
        return found

    async def apply(self, *files: pb.FileChoice, revision: int | None = None) -> pb.ApplyProposalResponse:
        proposal = await self.proposal()
        request = pb.ApplyProposalRequest(
            session_id=self.session_id,
            proposal_id=proposal.proposal_id,
            revision=proposal.revision if revision is None else revision,
            files=list(files),
        )
        return await self.door.apply_proposal(request, NOBODY)

    async def told(self, *kinds: type[Any]) -> list[Any]:
        events: list[Event] = await self.store.read(SessionId(self.session_id), after_seq=0, limit=10_000)
        return [event.payload for event in events if isinstance(event.payload, kinds)]


@asynccontextmanager
async def reviewed(folder: Path) -> AsyncIterator[Reviewed]:
    made = Reviewed(folder)
    try:
        yield made
    finally:
        await made.ticking(made.door.turn_queue.close())
        await made.ticking(made.service.close())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "workspace"
    made.mkdir()
    (made / "a.txt").write_text("one\ntwo\nthree\n")
    return made


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *identity, *words), cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def writes_a_key(folder: Path) -> None:
    (folder / "id_rsa").write_text("key\n")


def changes_two_files(folder: Path) -> None:
    (folder / "a.txt").write_text("one\nTWO\nthree\n")
    (folder / "b.txt").write_text("b\n")


async def test_a_session_begins_as_the_settings_say_unless_the_caller_does(folder: Path) -> None:
    async with reviewed(folder) as review:
        detail = await review.start()
        assert detail.summary is not None
        assert detail.summary.mode is pb.ReviewMode.PROPOSAL
        detail = await review.start(pb.ReviewMode.DIRECT)
        assert detail.summary is not None
        assert detail.summary.mode is pb.ReviewMode.DIRECT


async def test_a_proposal_is_in_the_detail_and_its_contents_come_on_demand(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(changes_two_files)
        assert (folder / "a.txt").read_text() == "one\ntwo\nthree\n"
        request = pb.GetSessionRequest(session_id=review.session_id)
        detail = (await review.door.get_session(request, NOBODY)).session
        assert detail is not None
        (proposal,) = detail.proposals
        assert [file.path for file in proposal.files] == ["a.txt", "b.txt"]
        assert proposal.files[1].operation is events_pb.FileOperation.CREATE
        answer = await review.door.get_proposal(
            pb.GetProposalRequest(
                session_id=review.session_id, proposal_id=proposal.proposal_id, paths=["a.txt", "b.txt"]
            ),
            NOBODY,
        )
        first, second = answer.contents
        assert (first.old_text, first.new_text) == ("one\ntwo\nthree\n", "one\nTWO\nthree\n")
        assert (second.has_field("old_text"), second.new_text) == (False, "b\n")
        assert [hunk.hunk_id for hunk in first.hunks] == [hunk.hunk_id for hunk in proposal.files[0].hunks]


async def test_what_is_applied_discarded_and_taken_back_is_in_the_log(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(changes_two_files)
        applied = await review.apply(pb.FileChoice(path="b.txt"))
        assert applied.applied
        assert applied.proposal is not None
        assert ((folder / "b.txt").exists(), applied.proposal.can_undo) == (True, True)
        undo = pb.UndoApplyRequest(session_id=review.session_id, proposal_id=applied.proposal.proposal_id)
        assert (await review.door.undo_apply(undo, NOBODY)).undone
        assert not (folder / "b.txt").exists()
        proposal = await review.proposal()
        discard = pb.DiscardProposalRequest(
            session_id=review.session_id, proposal_id=proposal.proposal_id, revision=proposal.revision
        )
        discarded = (await review.door.discard_proposal(discard, NOBODY)).proposal
        assert discarded is not None
        assert discarded.status is events_pb.ProposalStatus.DISCARDED
        story = [(one.revision, one.status, one.can_undo) for one in await review.told(ProposalUpdated)]
        assert story == [
            (1, "open", False),
            (2, "open", True),
            (3, "open", False),
            (4, "discarded", False),
        ]
        moments = [one.moment for one in await review.told(CheckpointCreated)]
        assert moments.count("before_apply") == 2


async def test_another_revision_than_the_person_saw_is_refused(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(changes_two_files)
        with pytest.raises(InvalidInput, match="revision") as refused:
            await review.apply(revision=7)
        assert refused.value.suggestion
        assert not (folder / "b.txt").exists()


async def test_a_conflict_writes_nothing_and_is_resolved_by_a_side(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(changes_two_files)
        (folder / "a.txt").write_text("one\n2\nthree\n")
        answer = await review.apply()
        assert not answer.applied
        assert answer.proposal is not None
        assert [file.path for file in answer.proposal.files if file.conflict] == ["a.txt"]
        assert not (folder / "b.txt").exists()
        contents = await review.door.get_proposal(
            pb.GetProposalRequest(
                session_id=review.session_id, proposal_id=answer.proposal.proposal_id, paths=["a.txt"]
            ),
            NOBODY,
        )
        (conflict,) = contents.contents[0].conflicts
        assert (conflict.line, conflict.person, conflict.agent) == (2, "2\n", "TWO\n")
        answer = await review.apply(
            pb.FileChoice(path="a.txt", resolve=pb.ConflictSide.AGENT), pb.FileChoice(path="b.txt")
        )
        assert answer.applied
        assert (folder / "a.txt").read_text() == "one\nTWO\nthree\n"


async def test_a_file_that_may_hold_secrets_cannot_be_applied(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(writes_a_key)
        (file,) = (await review.proposal()).files
        assert file.denied
        with pytest.raises(PermissionDenied):
            await review.apply(pb.FileChoice(path="id_rsa"))


async def test_the_prompt_for_a_revision_has_what_was_rejected_and_the_comment(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(changes_two_files)
        proposal = await review.proposal()
        request = pb.GetRevisionPromptRequest(
            session_id=review.session_id,
            proposal_id=proposal.proposal_id,
            revision=proposal.revision,
            files=[pb.FileChoice(path="a.txt")],
            comment="in French",
        )
        text = (await review.door.get_revision_prompt(request, NOBODY)).text
        assert ("in French" in text, "+TWO" in text, "b.txt" in text) == (True, True, False)


async def test_a_checkpoint_brings_the_files_back_and_the_persons_changes_as_a_proposal(folder: Path) -> None:
    async with reviewed(folder) as review:
        await review.start(pb.ReviewMode.DIRECT)
        await review.turn(changes_two_files)
        assert (folder / "b.txt").exists()
        (folder / "mine.txt").write_text("mine\n")
        listing = pb.ListCheckpointsRequest(session_id=review.session_id)
        listed = (await review.door.list_checkpoints(listing, NOBODY)).checkpoints
        before = next(one for one in listed if one.moment is events_pb.CheckpointMoment.BEFORE_TURN)
        assert before.label == "do it"
        compare = pb.GetCheckpointDiffRequest(
            session_id=review.session_id, checkpoint_id=before.checkpoint_id
        )
        changed = (await review.door.get_checkpoint_diff(compare, NOBODY)).files
        assert [file.path for file in changed] == ["a.txt", "b.txt", "mine.txt"]
        restore = pb.RestoreCheckpointRequest(
            session_id=review.session_id, checkpoint_id=before.checkpoint_id
        )
        done = await review.door.restore_checkpoint(restore, NOBODY)
        assert names_in(folder) == ["a.txt"]
        assert done.restored is not None
        assert done.proposal is not None
        assert done.restored.proposal_id == done.proposal.proposal_id
        assert [file.path for file in done.proposal.files] == ["mine.txt"]
        (told,) = await review.told(CheckpointRestored)
        assert told.checkpoint_id == before.checkpoint_id
        assert (await review.apply()).applied
        assert (folder / "mine.txt").exists()


async def test_nothing_is_decided_in_the_middle_of_a_turn_or_while_others_write_the_tree(
    folder: Path,
) -> None:
    async with reviewed(folder) as review:
        await review.start()
        await review.turn(changes_two_files)
        review.gate = asyncio.Event()
        turn = asyncio.create_task(review.turn(changes_two_files))
        async with asyncio.timeout(30):
            while not review.service.session(SessionId(review.session_id)).is_busy:
                await asyncio.wait((turn,), timeout=0.001)
        with pytest.raises(SessionBusy, match="in the middle of a turn"):
            await review.apply()
        review.gate.set()
        await turn
        lease = await review.store.lease(f"tree {review.folder}", "another")
        assert lease is not None
        with pytest.raises(SessionBusy, match="Session another is working"):
            await review.apply()
        lease.release()
        assert (await review.apply()).applied


async def test_the_mode_of_a_session_changes_between_turns_only_to_what_its_folder_allows(
    folder: Path,
) -> None:
    async with reviewed(folder) as review:
        await review.start()
        asking = pb.GetReviewStatusRequest(session_id=review.session_id)
        status = await review.door.get_review_status(asking, NOBODY)
        assert status.mode is pb.ReviewMode.PROPOSAL
        assert list(status.possible) == [pb.ReviewMode.DIRECT, pb.ReviewMode.PROPOSAL]
        assert "git init" in status.hint
        change = pb.SetReviewModeRequest(session_id=review.session_id, mode=pb.ReviewMode.BRANCH)
        with pytest.raises(InvalidInput, match="git repository"):
            await review.door.set_review_mode(change, NOBODY)
        change.mode = pb.ReviewMode.DIRECT
        session = (await review.ticking(review.door.set_review_mode(change, NOBODY))).session
        assert session is not None
        assert session.summary is not None
        assert session.summary.mode is pb.ReviewMode.DIRECT
        await review.turn(changes_two_files)
        assert (folder / "b.txt").exists()
        with pytest.raises(InvalidInput, match="mode is required"):
            await review.door.set_review_mode(pb.SetReviewModeRequest(session_id=review.session_id), NOBODY)


async def test_a_session_that_proposes_is_cleared_only_when_that_may_be_discarded(folder: Path) -> None:
    async with reviewed(folder) as desk:
        await desk.start()
        await desk.turn(changes_two_files)
        request = pb.ClearSessionRequest(session_id=desk.session_id)
        with pytest.raises(InvalidInput, match="2 files") as caught:
            await desk.door.clear_session(request, NOBODY)
        assert "would be lost" in caught.value.message
        assert (await desk.proposal()).files[1].path == "b.txt"
        request.discard_proposals = True
        await desk.ticking(desk.door.clear_session(request, NOBODY))
        with pytest.raises(SessionNotFound):
            await desk.service.show(SessionId(desk.session_id))


async def test_a_worktree_is_finished_on_the_persons_branch(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    async with reviewed(folder) as review:
        await review.start(pb.ReviewMode.WORKTREE)
        await review.turn(changes_two_files)
        assert not (folder / "b.txt").exists()
        request = pb.FinishReviewRequest(
            session_id=review.session_id, ending=pb.ReviewEnding.SQUASH, message="Two files"
        )
        done = await review.ticking(review.door.finish_review(request, NOBODY))
        assert done.reference == "refs/heads/main"
        assert git(folder, "log", "-1", "--format=%H %s") == f"{done.commit} Two files\n"
        assert (folder / "b.txt").exists()
        with pytest.raises(InvalidInput, match="ending is required"):
            await review.door.finish_review(pb.FinishReviewRequest(session_id=review.session_id), NOBODY)


async def test_calls_that_name_nothing_say_what_is_missing(folder: Path) -> None:
    async with reviewed(folder) as review:
        with pytest.raises(SessionNotFound):
            await review.door.get_proposal(pb.GetProposalRequest(session_id="gone"), NOBODY)
        await review.start()
        with pytest.raises(InvalidInput, match="proposal"):
            await review.door.apply_proposal(pb.ApplyProposalRequest(session_id=review.session_id), NOBODY)
        with pytest.raises(InvalidInput, match="checkpoint"):
            await review.door.restore_checkpoint(
                pb.RestoreCheckpointRequest(session_id=review.session_id), NOBODY
            )
