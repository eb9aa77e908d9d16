"""An agent that must not touch the person's files, and does: the change is shown, and can be restored."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from portico.domain.events import AnyPayload, Notice
from portico.domain.notice_codes import CHANGED_OUTSIDE_REVIEW
from portico.review.checkpoints.held_files import SnapshotBounds
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.outside_changes import OutsideChanges
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from tests.review.folders import Seen, seen
from tests.review.trees import git, repository, write
from tests.support.program import Portico
from tests.support.reviewing_editor import ReviewingEditor

LINES = "".join(f"line {number}\n" for number in range(30))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "work", a__txt=LINES, b__txt="b\n")
    write(folder, {"d/only.txt": "only\n", "run": "#!/bin/sh\n", ".gitignore": "build/\n.env\n"})
    write(folder, {"build/out.o": "made\n", ".env": "TOKEN=1\n"})
    (folder / "run").chmod(0o755)
    (folder / "b.txt").chmod(0o640)
    return folder


@pytest.fixture
def reviews(tmp_path: Path) -> ReviewService:
    return make(tmp_path)


def make(home: Path, bounds: SnapshotBounds | None = None) -> ReviewService:
    """As another process would."""
    return ReviewService.at(home / "state", os.environ, ManualClock(), bounds=bounds)


def files(folder: Path) -> Seen:
    """The person's files, without what git keeps for itself."""
    return {name: facts for name, facts in seen(folder).items() if name.split("/")[0] != ".git"}


async def told(
    reviews: ReviewService, work: Path, deed: Callable[[Path], object], *, git_only: bool = False
) -> Notice | None:
    """Notice to the person after a turn in which something does this to their folder."""
    assert await reviews.note_files("s1", work, "Only look", git_only=git_only) == []
    deed(work)
    found: Sequence[AnyPayload] = await reviews.changed_outside("s1", work)
    assert await reviews.changed_outside("s1", work) == [], "It is told once."
    if not found:
        return None
    (notice,) = found
    assert isinstance(notice, Notice)
    assert notice.code == CHANGED_OUTSIDE_REVIEW
    return notice


def rewrite(folder: Path) -> None:
    facts = (folder / "a.txt").stat()
    (folder / "a.txt").write_text(LINES.upper())  # The size and time of the file stay as they were.
    os.utime(folder / "a.txt", ns=(facts.st_atime_ns, facts.st_mtime_ns))


def rename(folder: Path) -> None:
    (folder / "d" / "only.txt").rename(folder / "moved.txt")


def replace_by_link(folder: Path) -> None:
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to("b.txt")


def replace_by_folder(folder: Path) -> None:
    (folder / "a.txt").unlink()
    write(folder, {"a.txt/inner": "x\n"})


@pytest.mark.parametrize(
    ("deed", "named"),
    [
        (rewrite, ["changed: a.txt"]),
        (lambda folder: (folder / "a.txt").write_bytes(b"\0\xff"), ["changed: a.txt"]),
        (lambda folder: (folder / "d" / "only.txt").unlink(), ["removed: d/only.txt"]),
        (rename, ["removed: d/only.txt", "new: moved.txt"]),
        (lambda folder: write(folder, {"e/new.txt": "new\n"}), ["new: e/new.txt"]),
        (lambda folder: (folder / "a.txt").chmod(0o755), ["changed: a.txt"]),
        (lambda folder: (folder / "b.txt").chmod(0o666), ["permissions: b.txt"]),
        (replace_by_link, ["changed: a.txt"]),
        (replace_by_folder, ["removed: a.txt", "new: a.txt/inner"]),
    ],
)
async def test_what_was_done_to_a_file_is_shown_and_put_back(
    work: Path, reviews: ReviewService, deed: Callable[[Path], object], named: list[str]
) -> None:
    before = files(work)
    notice = await told(reviews, work, deed)
    assert notice is not None
    assert notice.level == "warning"
    assert (notice.details or "").splitlines() == named
    assert [f"{path}" for path in notice.paths] == [line.partition(": ")[2] for line in named]
    assert notice.paths[0] in notice.text
    assert notice.checkpoint_id is not None
    await reviews.restore("s1", notice.checkpoint_id)
    assert {name: facts for name, facts in files(work).items() if facts[0] is not None} == {
        name: facts for name, facts in before.items() if facts[0] is not None
    }


async def test_what_is_put_back_may_have_been_the_persons_own_and_is_kept_for_them(
    work: Path, reviews: ReviewService
) -> None:
    notice = await told(reviews, work, lambda folder: write(folder, {"a.txt": f"{LINES}mine\n"}))
    assert notice is not None
    assert notice.checkpoint_id is not None
    outcome = await reviews.restore("s1", notice.checkpoint_id)
    assert (work / "a.txt").read_text() == LINES
    assert outcome.proposal is not None
    assert outcome.proposal.origin == "restored"
    await reviews.apply("s1", outcome.proposal.proposal_id, outcome.proposal.revision)
    assert (work / "a.txt").read_text() == f"{LINES}mine\n"


def change_back(folder: Path) -> None:
    (folder / "a.txt").write_text("for a moment\n")
    (folder / "a.txt").write_text(LINES)


@pytest.mark.parametrize("deed", [lambda _: None, change_back, lambda folder: (folder / "a.txt").touch()])
async def test_a_folder_that_is_as_it_was_needs_no_words_and_no_checkpoint_of_its_own(
    work: Path, reviews: ReviewService, deed: Callable[[Path], object]
) -> None:
    review = await reviews.open("s1", work, "direct")
    for _ in range(3):
        assert await told(reviews, work, deed) is None
    await review.begin_turn("Work")
    assert len(await reviews.checkpoints("s1")) == 2


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("build/planted.sh", "info"),
        ("build/out.o", "info"),
        (".env", "warning"),
        (".git/hooks/pre-commit", "warning"),
        (".git/config", "warning"),
        (".git/info/attributes", "warning"),
        (".git/refs/heads/main", "warning"),
    ],
)
async def test_what_no_checkpoint_holds_is_shown_with_the_words_that_it_stays(
    work: Path, reviews: ReviewService, path: str, level: str
) -> None:
    notice = await told(reviews, work, lambda folder: write(folder, {path: "planted\n"}))
    assert notice is not None
    assert (notice.paths, notice.level, notice.checkpoint_id) == ((path,), level, None)
    obeyed = path.startswith(".git/") and "refs" not in path
    assert ("look at it before you use git here" in (notice.details or "")) is obeyed
    assert "cannot be restored" in (notice.details or "")


async def test_a_removed_secret_is_shown_beside_a_file_that_can_be_put_back(
    work: Path, reviews: ReviewService
) -> None:
    def deed(folder: Path) -> None:
        (folder / ".env").unlink()
        write(folder, {"a.txt": "gone\n", ".git/hooks/post-checkout": "#!/bin/sh\n"})

    notice = await told(reviews, work, deed)
    assert notice is not None
    assert notice.paths == (".git/hooks/post-checkout", ".env", "a.txt")
    assert "removed: .env (not kept, so it cannot be restored)" in (notice.details or "")
    assert notice.checkpoint_id is not None


async def test_hooks_of_the_repository_are_watched_from_a_folder_inside_and_from_a_linked_worktree(
    work: Path, reviews: ReviewService
) -> None:
    linked = work.parent / "linked"
    git(work, "worktree", "add", "--quiet", "--detach", str(linked))

    def plant(folder: Path) -> None:
        write(work, {f".git/hooks/{folder.name}": "#!/bin/sh\n"})

    for folder, path in ((work / "d", "../.git/hooks/d"), (linked, "../work/.git/hooks/linked")):
        notice = await told(reviews, folder, plant)
        assert notice is not None
        assert notice.paths == (path,)


async def test_the_branch_that_portico_gave_the_agent_may_be_committed_to(
    work: Path, reviews: ReviewService
) -> None:
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Commit it")

    def commit(_: Path) -> None:
        write(review.folder, {"b.txt": "committed\n"})
        git(review.folder, "commit", "--quiet", "--all", "--message=done")

    assert await told(reviews, work, commit) is None


async def test_a_confined_agent_in_a_worktree_moves_no_branch_of_the_persons_unseen(
    work: Path, reviews: ReviewService
) -> None:
    def deed(folder: Path) -> None:
        git(folder, "update-ref", "refs/heads/main", "HEAD~1")
        git(folder, "branch", "planted")
        write(folder, {"a.txt": "by the person, who may work on\n"})

    git(work, "commit", "--quiet", "--allow-empty", "--message=second")
    assert await reviews.note_files("s1", work, "Only look", git_only=True) == []
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Commit it")
    git(review.folder, "commit", "--quiet", "--allow-empty", "--message=done")
    assert await reviews.changed_outside("s1", work) == []

    notice = await told(reviews, work, deed, git_only=True)
    assert notice is not None
    assert notice.level == "warning"
    assert notice.checkpoint_id is None
    assert (notice.details or "").splitlines() == [
        "changed: .git/refs/heads/main (not kept, so it cannot be restored)",
        "new: .git/refs/heads/planted (not kept, so it cannot be restored)",
    ]


async def test_what_a_killed_turn_did_is_told_by_the_next_portico(tmp_path: Path, work: Path) -> None:
    for tell in ("salvage", "note_files"):
        await make(tmp_path).note_files("s1", work, "Only look")
        write(work, {"a.txt": f"{tell}\n", "build/out.o": f"{tell}\n"})
        later = make(tmp_path)
        words = () if tell == "salvage" else ("Look again",)
        (notice,) = await getattr(later, tell)("s1", work, *words)
        assert notice.paths == ("a.txt", "build/out.o")
        assert notice.checkpoint_id is not None
        await later.restore("s1", notice.checkpoint_id)
        assert (work / "a.txt").read_text() == LINES
        await later.changed_outside("s1", work)


async def test_the_work_of_another_session_that_was_asked_to_is_not_shown_as_unseen(
    work: Path, reviews: ReviewService
) -> None:
    other = await reviews.open("s2", work, "direct")
    await other.begin_turn("Write")
    write(work, {"b.txt": "half\n"})
    await reviews.note_files("s1", work, "Only look")
    write(work, {"a.txt": "written by the other\n"})
    await other.end_turn()
    assert await reviews.changed_outside("s1", work) == []

    await reviews.note_files("s1", work, "Look again")
    await other.begin_turn("Write more")
    write(work, {"a.txt": "once more\n"})
    await other.end_turn()
    write(work, {"b.txt": "by nobody who was asked\n"})
    (notice,) = await reviews.changed_outside("s1", work)
    assert isinstance(notice, Notice)
    assert notice.paths == ("b.txt",)


async def test_beside_a_session_that_is_at_work_nothing_is_offered_to_be_put_back(
    work: Path, reviews: ReviewService
) -> None:
    await reviews.note_files("s1", work, "Only look")
    write(work, {"a.txt": "by the other\n"})
    (notice,) = await reviews.changed_outside("s1", work, beside=True)
    assert isinstance(notice, Notice)
    assert (notice.level, notice.checkpoint_id) == ("info", None)
    assert "Another session is working in your folder" in (notice.details or "")


async def test_a_look_from_beside_does_not_make_the_agents_work_the_persons(
    work: Path, reviews: ReviewService
) -> None:
    other = await reviews.open("s2", work, "direct")
    await other.begin_turn("Write")
    first = (await reviews.checkpoints("s2"))[0]
    write(work, {"a.txt": "by the agent\n"})
    await reviews.note_files("s1", work, "Only look")
    await other.end_turn()
    outcome = await reviews.restore("s2", first.id)
    assert (work / "a.txt").read_text() == LINES
    assert outcome.proposal is None


async def test_a_write_after_the_end_of_the_turn_is_in_no_notice_and_goes_with_the_checkpoint(
    work: Path, reviews: ReviewService
) -> None:
    notice = await told(reviews, work, lambda folder: write(folder, {"a.txt": "during\n"}))
    assert notice is not None
    assert notice.checkpoint_id is not None
    write(work, {"b.txt": "by a process that was left behind\n"})
    compared = await reviews.compare("s1", notice.checkpoint_id)
    assert [one.path for one in compared.files] == ["a.txt", "b.txt"]
    await reviews.restore("s1", notice.checkpoint_id)
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == (LINES, "b\n")


async def test_where_there_are_too_many_files_to_keep_changes_are_shown_all_the_same(
    tmp_path: Path, work: Path
) -> None:
    reviews = make(tmp_path, SnapshotBounds(at_once=1, taking_seconds=0))
    notice = await told(reviews, work, lambda folder: write(folder, {"a.txt": "changed\n"}))
    assert notice is not None
    assert (notice.paths, notice.checkpoint_id) == (("a.txt",), None)
    assert "They cannot be restored: " in (notice.details or "")


async def test_a_folder_that_takes_too_long_to_look_through_is_not_waited_for_again(
    tmp_path: Path, work: Path
) -> None:
    state = tmp_path / "state"
    checkpoints = Checkpoints(state / "checkpoints", os.environ, ManualClock())

    def outside(seconds: float) -> OutsideChanges:
        return OutsideChanges(state / "outside", os.environ, checkpoints, state, seconds=seconds)

    # What git keeps track of is compared all the same, and so are hooks.
    for number, seconds in enumerate((1e-9, 60.0)):
        changes = outside(seconds)
        await changes.note("s1", work, "Only look")
        planted = f".git/hooks/hook{number}"
        write(work, {"build/out.o": f"{number}\n", "a.txt": f"{number}\n", planted: "#!/bin/sh\n"})
        (notice,) = await changes.find("s1", work)
        assert isinstance(notice, Notice)
        assert notice.paths == (planted, "a.txt")


async def test_what_portico_keeps_inside_the_folder_is_its_own(work: Path) -> None:
    reviews = make(work / "home")
    assert await told(reviews, work, lambda _: None) is None
    notice = await told(reviews, work, lambda folder: write(folder, {"a.txt": "x\n"}))
    assert notice is not None
    assert notice.paths == ("a.txt",)


async def test_a_name_that_is_no_text_is_shown_escaped(work: Path, reviews: ReviewService) -> None:
    def deed(folder: Path) -> None:
        (folder / os.fsdecode(b"caf\xe9\n\x1b[2J.txt")).write_text("x\n")

    notice = await told(reviews, work, deed)
    assert notice is not None
    assert notice.paths == ("caf\\udce9\\n\\x1b[2J.txt",)


async def test_nothing_is_left_of_a_session_that_is_deleted(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    await reviews.note_files("s1", work, "Only look")
    await reviews.forget("s1", work)
    assert list((tmp_path / "state" / "outside").iterdir()) == []


@pytest.mark.parametrize(("level", "compared"), [("workspace", False), ("none", True)])
def test_an_editors_files_are_compared_around_a_turn_unless_a_sandbox_keeps_the_agent_out(
    portico: Portico, level: str, compared: bool
) -> None:
    editor = ReviewingEditor(
        portico, "--agent-command", portico.agent, "--mode", "proposal", "--sandbox", level
    )
    editor.turn(editor.open_session(), "say hello")
    assert editor.hang_up().code == 0
    assert (portico.state / "review" / "outside").exists() is compared
