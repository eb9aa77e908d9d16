"""Symbolic links under review: proposed, shown, applied and taken back like files, unless they lead out."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from portico.domain.errors import PermissionDenied
from portico.domain.events import AnyPayload, ProposalUpdated
from portico.domain.reviews import ReviewMode
from portico.review.branches.session_branches import FinishMethod
from portico.review.proposals.selection import SelectedFile
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from portico.testing.windows import MemoryWindow, MemoryWindows
from tests.review.trees import content, git, repository, write


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = repository(tmp_path / "work", a__txt="a\n", b__txt="b\n")
    write(made, {"d/x": "x\n", "e/y": "y\n"})
    (made / "link").symlink_to("a.txt")
    (made / "way").symlink_to("e")
    return made


@pytest.fixture
def reviews(tmp_path: Path) -> ReviewService:
    return ReviewService.at(tmp_path / "state", os.environ, ManualClock())


def proposed(payloads: Sequence[AnyPayload]) -> ProposalUpdated:
    (found,) = [one for one in payloads if isinstance(one, ProposalUpdated)]
    return found


async def turn(
    reviews: ReviewService, work: Path, deed: Callable[[Path], None], mode: ReviewMode = "proposal"
) -> tuple[Path, ProposalUpdated]:
    review = await reviews.open("s1", work, mode)
    payloads = [*await review.begin_turn("Do it")]
    deed(review.folder)
    return review.folder, proposed([*payloads, *await review.end_turn()])


def relink(folder: Path, name: str, target: str | Path) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)


def make_link(folder: Path) -> None:
    relink(folder, "d/new", "../a.txt")


def change_link(folder: Path) -> None:
    relink(folder, "link", "b.txt")


def remove_link(folder: Path) -> None:
    (folder / "link").unlink()


def file_becomes_link(folder: Path) -> None:
    relink(folder, "b.txt", "a.txt")


def link_becomes_file(folder: Path) -> None:
    (folder / "link").unlink()
    write(folder, {"link": "a file now\n"})


def folder_becomes_link(folder: Path) -> None:
    shutil.rmtree(folder / "d")
    relink(folder, "d", "e")


def link_becomes_folder(folder: Path) -> None:
    (folder / "way").unlink()
    write(folder, {"way/in/here": "a folder now\n"})


DEEDS = [
    *(make_link, change_link, remove_link, file_becomes_link),
    *(link_becomes_file, folder_becomes_link, link_becomes_folder),
]


@pytest.mark.parametrize("deed", DEEDS)
async def test_whatever_becomes_of_a_link_is_applied_taken_back_and_applied_again(
    work: Path, reviews: ReviewService, deed: Callable[[Path], None]
) -> None:
    before = content(work)
    folder, told = await turn(reviews, work, deed)
    wanted = content(folder)
    assert content(work) == before != wanted
    assert not any(one.denied or one.conflict or one.binary for one in told.files)
    for _ in range(2):
        applied = await reviews.apply("s1", told.proposal_id, told.revision)
        assert (applied.proposal.status, content(work)) == ("applied", wanted)
        review = await reviews.open("s1", work, "proposal")
        assert [*await review.begin_turn("next"), *await review.end_turn()] == []
        told = (await reviews.undo("s1", told.proposal_id)).proposal
        assert (told.status, content(work)) == ("open", before)


@pytest.mark.parametrize("deed", DEEDS)
async def test_the_patch_of_a_link_is_one_that_git_takes(
    tmp_path: Path, work: Path, reviews: ReviewService, deed: Callable[[Path], None]
) -> None:
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=links")
    folder, told = await turn(reviews, work, deed)
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", str(work), str(copy))
    write(tmp_path, {"patch": "".join(one.diff for one in told.files)})
    git(copy, "apply", "--index", "../patch")
    assert content(copy) == content(folder)


@pytest.mark.parametrize("deed", DEEDS)
async def test_what_is_given_up_goes_from_the_agents_tree_too(
    work: Path, reviews: ReviewService, deed: Callable[[Path], None]
) -> None:
    before = content(work)
    folder, told = await turn(reviews, work, deed)
    discarded = await reviews.discard("s1", told.proposal_id, told.revision)
    assert discarded.proposal.status == "discarded"
    assert content(folder) == before
    review = await reviews.open("s1", work, "proposal")
    assert [*await review.begin_turn("next"), *await review.end_turn()] == []


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_tree_that_was_deleted_by_hand_comes_back_with_its_links(
    work: Path, reviews: ReviewService, deed: Callable[[Path], None]
) -> None:
    folder, told = await turn(reviews, work, deed)
    wanted = content(folder)
    shutil.rmtree(folder)
    review = await reviews.open("s1", work, "proposal")
    assert [*await review.begin_turn("next"), *await review.end_turn()] == []
    assert content(review.folder) == wanted
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert content(work) == wanted


@pytest.mark.parametrize("deed", DEEDS)
async def test_links_come_home_from_a_worktree_as_git_keeps_them(
    work: Path, reviews: ReviewService, deed: Callable[[Path], None]
) -> None:
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=links")
    folder, _ = await turn(reviews, work, deed, "worktree")
    wanted = content(folder)
    await reviews.finish("s1", FinishMethod.SQUASH)
    assert content(work) == wanted
    assert git(work, "status", "--porcelain") == ""


def link_everywhere(folder: Path) -> None:
    relink(folder, "d/out", "../../elsewhere")
    relink(folder, "full", "/etc/hosts")
    relink(folder, "secret", ".env")
    relink(folder, "of-git", ".git/config")
    relink(folder, "in", "d/x")


async def test_a_link_that_leads_out_or_to_what_is_protected_is_shown_and_never_made(
    work: Path, reviews: ReviewService
) -> None:
    _, told = await turn(reviews, work, link_everywhere)
    files = {one.path: one for one in told.files}
    out = "It leads out of the workspace and cannot be applied."
    assert files["d/out"].warning == f"{out} It is a symbolic link to ../../elsewhere."
    assert files["full"].warning == f"{out} It is a symbolic link to /etc/hosts."
    assert (files["secret"].warning or "").startswith("It leads to .env, which is protected")
    assert [path for path, one in files.items() if not one.denied] == ["in"]
    assert files["in"].warning == "It is a symbolic link to d/x."
    with pytest.raises(PermissionDenied, match="leads out"):
        await reviews.apply("s1", told.proposal_id, 1, [SelectedFile("full")])
    outcome = await reviews.apply("s1", told.proposal_id, 1)
    assert outcome.decided.refused == ("d/out", "full", "of-git", "secret")
    assert [name for name in ("in", "full", "secret", "of-git", "d/out") if (work / name).is_symlink()] == [
        "in"
    ]


async def test_a_link_that_leads_out_by_now_is_not_made(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    _, told = await turn(reviews, work, lambda folder: relink(folder, "new", "e/y"))
    shutil.rmtree(work / "e")
    (work / "e").symlink_to(tmp_path)
    with pytest.raises(PermissionDenied, match=r"new is a symbolic link\. It leads out"):
        await reviews.apply("s1", told.proposal_id, told.revision)
    assert not (work / "new").is_symlink()


async def test_the_persons_own_link_out_can_be_removed_and_comes_back(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    write(tmp_path, {"outside": "mine\n"})
    (work / "out").symlink_to("../outside")
    before = content(work)
    _, told = await turn(reviews, work, lambda folder: (folder / "out").unlink())
    await reviews.apply("s1", told.proposal_id, 1)
    assert not (work / "out").is_symlink()
    assert (tmp_path / "outside").read_text() == "mine\n"
    await reviews.undo("s1", told.proposal_id)
    assert content(work) == before


async def test_a_link_that_names_its_place_in_full_names_the_persons(
    work: Path, reviews: ReviewService
) -> None:
    folder, told = await turn(reviews, work, lambda folder: relink(folder, "full", folder / "d" / "x"))
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert (work / "full").readlink() == work / "d" / "x"
    assert (folder / "full").readlink() == folder / "d" / "x"
    review = await reviews.open("s1", work, "proposal")
    assert [*await review.begin_turn("next"), *await review.end_turn()] == []


async def test_a_link_that_both_changed_is_a_conflict_that_a_side_settles(
    work: Path, reviews: ReviewService
) -> None:
    _, told = await turn(reviews, work, change_link)
    relink(work, "link", "d/x")
    outcome = await reviews.apply("s1", told.proposal_id, 1)
    assert outcome.decided.conflicted == ("link",)
    file, sides = await reviews.file("s1", told.proposal_id, "link")
    assert (file.hunks, sides.base, sides.person, sides.agent) == ((), b"a.txt", b"d/x", b"b.txt")
    revision = outcome.proposal.revision
    await reviews.apply("s1", told.proposal_id, revision, resolve={"link": "agent"})
    assert (work / "link").readlink() == Path("b.txt")
    await reviews.undo("s1", told.proposal_id)
    assert (work / "link").readlink() == Path("d/x")


async def test_a_link_the_person_made_as_well_needs_no_writing(work: Path, reviews: ReviewService) -> None:
    _, told = await turn(reviews, work, make_link)
    relink(work, "d/new", "../a.txt")
    assert (await reviews.apply("s1", told.proposal_id, 1)).proposal.status == "applied"
    relink(work, "d/new", "../b.txt")
    _, told = await turn(reviews, work, lambda folder: (folder / "d" / "new").unlink())
    relink(work, "d/new", "x")
    assert (await reviews.apply("s1", told.proposal_id, 1)).decided.conflicted == ("d/new",)
    assert (work / "d" / "new").readlink() == Path("x")


async def test_a_link_goes_to_the_disk_whatever_window_is_open(tmp_path: Path, work: Path) -> None:
    window = MemoryWindow(work)
    reviews = ReviewService.at(tmp_path / "own", os.environ, ManualClock(), windows=MemoryWindows(window))
    window.type("a.txt", "typed\n")
    folder, told = await turn(reviews, work, change_link)
    await reviews.apply("s1", told.proposal_id, 1)
    assert (work / "link").readlink() == (folder / "link").readlink() == Path("b.txt")
    assert (window.labels, window.text("a.txt")) == ([], "typed\n")


async def test_a_link_in_the_place_of_a_folder_is_taken_back_whatever_is_found_behind_it(
    work: Path, reviews: ReviewService
) -> None:
    write(work, {"e/x": "another x\n"})
    before = content(work)

    def lead_elsewhere(folder: Path) -> None:
        shutil.rmtree(folder / "d")
        (folder / "d").symlink_to("e")

    _, told = await turn(reviews, work, lead_elsewhere)
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert (work / "d" / "x").read_text() == "another x\n"
    outcome = await reviews.undo("s1", told.proposal_id)
    assert outcome.decided.conflicted == ()
    assert content(work) == before


@pytest.mark.parametrize("mode", ["direct", "branch"])
async def test_a_way_back_leads_past_a_link_in_the_place_of_a_folder(
    work: Path, reviews: ReviewService, mode: ReviewMode
) -> None:
    write(work, {"e/x": "another x\n"})
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=second")
    before = content(work)
    for _ in range(2):
        review = await reviews.open("s1", work, mode)
        await review.begin_turn("Do it")
        if not (work / "d").is_symlink():
            shutil.rmtree(work / "d")
            (work / "d").symlink_to("e")
        await review.end_turn()
    oldest = (await reviews.checkpoints("s1"))[-1]
    await reviews.restore("s1", oldest.id)
    assert content(work) == before
