"""Branch mode: work goes to a branch, the person's own uncommitted work stays theirs, and the start comes back."""

import os
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, PorticoError, SessionBusy
from portico.review.branches.session_branches import Branches, FinishMethod
from tests.review.trees import checkpoints, content, git, person_sees, repository, write


def branches(tmp_path: Path) -> Branches:
    return Branches(tmp_path / "state" / "branches", os.environ, checkpoints(tmp_path))


def dirty(folder: Path) -> Path:
    """Staged, changed, deleted and untracked work that is not committed."""
    workspace = repository(
        folder, a__txt="1\n2\n3\n4\n5\n6\n7\n", staged="s\n", deleted="d\n", __gitignore="ignored\n"
    )
    write(workspace, {"staged": "staged\n", "partly": "first\n"})
    git(workspace, "add", "staged", "partly")
    write(workspace, {"partly": "first\nsecond\n", "a.txt": "mine\n2\n3\n4\n5\n6\n7\n"})
    write(workspace, {"untracked": "u\n", "ignored": "i\n", ".env": "KEY=1\n"})
    (workspace / "deleted").unlink()
    return workspace


def agent_works(workspace: Path) -> None:
    text = (workspace / "a.txt").read_text()
    write(workspace, {"a.txt": text.replace("7\n", "agent\n"), "by/agent": "new\n"})


def own_view(workspace: Path) -> tuple[str, ...]:
    """The person's view of their repository, without Portico's own refs."""
    status, index, head, refs, stash = person_sees(workspace)
    kept = "\n".join(line for line in refs.split("\n") if "portico/" not in line)
    return status, index, head, kept, stash


async def test_to_begin_touches_no_file_and_stages_nothing(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    files, (status, index, *_) = content(workspace), own_view(workspace)
    session = await branches(tmp_path).begin(workspace, "fix-it")
    assert git(workspace, "branch", "--show-current") == session.branch == "portico/fix-it"
    assert content(workspace) == files
    assert own_view(workspace)[:2] == (status, index)


@pytest.mark.parametrize("ending", [FinishMethod.DISCARD, FinishMethod.KEEP])
@pytest.mark.parametrize("commits", [False, True])
async def test_to_discard_or_keep_brings_the_start_back_exactly(
    tmp_path: Path, ending: FinishMethod, commits: bool
) -> None:
    workspace = dirty(tmp_path / "w")
    files, seen = content(workspace), own_view(workspace)
    mode = branches(tmp_path)
    await mode.begin(workspace, "try")
    agent_works(workspace)
    if commits:
        git(workspace, "add", "--all")
        git(workspace, "commit", "--quiet", "--message=agent")
    worked = content(workspace)
    ended = await mode.finish(workspace, "try", ending)
    assert content(workspace) == files
    assert own_view(workspace) == seen
    assert git(workspace, "show", f"{ended.reference}:by/agent") == "new"
    assert git(workspace, "show", f"{ended.reference}:untracked") == "u"
    assert ("portico/try" in git(workspace, "branch", "--list", "portico/*")) == (ending is FinishMethod.KEEP)
    assert worked["a.txt"][1].decode().strip() == git(workspace, "show", f"{ended.commit}:a.txt")
    assert await mode.find(workspace, "try") is None


@pytest.mark.parametrize("ending", [FinishMethod.MERGE, FinishMethod.SQUASH])
async def test_to_merge_commits_the_agents_work_and_nothing_of_the_persons(
    tmp_path: Path, ending: FinishMethod
) -> None:
    workspace = dirty(tmp_path / "w")
    mode = branches(tmp_path)
    await mode.begin(workspace, "do")
    agent_works(workspace)
    worked = content(workspace)
    await mode.finish(workspace, "do", ending, "Do it\n")
    assert git(workspace, "branch", "--show-current") == "main"
    assert content(workspace) == worked
    assert git(workspace, "show", "HEAD:a.txt") == "1\n2\n3\n4\n5\n6\nagent"
    assert git(workspace, "diff", "--name-only", "HEAD~1", "HEAD").split("\n") == ["a.txt", "by/agent"]
    assert git(workspace, "diff", "--cached", "--name-only").split("\n") == ["partly", "staged"]
    assert git(workspace, "show", ":partly") == "first"
    assert git(workspace, "status", "--porcelain=v1", "untracked", "a.txt").split("\n") == [
        " M a.txt",
        "?? untracked",
    ]
    parents = git(workspace, "log", "-1", "--format=%P").split()
    assert len(parents) == (2 if ending is FinishMethod.MERGE else 1)
    assert git(workspace, "branch", "--list", "portico/*") == ""
    assert git(workspace, "log", "-1", "--format=%s %an") == "Do it Ann"


async def test_lines_that_both_changed_are_a_clear_error_and_nothing_moves(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = branches(tmp_path)
    await mode.begin(workspace, "clash")
    write(workspace, {"a.txt": "agent on mine\n2\n3\n4\n5\n6\n7\n"})
    before = content(workspace), person_sees(workspace)
    with pytest.raises(InvalidInput, match=r"same lines of a\.txt"):
        await mode.finish(workspace, "clash", FinishMethod.MERGE)
    assert (content(workspace), person_sees(workspace)) == before
    ended = await mode.finish(workspace, "clash", FinishMethod.KEEP)
    assert git(workspace, "show", f"{ended.commit}:a.txt").startswith("agent on mine")


async def test_a_detached_head_is_detached_again_afterwards(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    git(workspace, "checkout", "--quiet", "--detach")
    files, seen = content(workspace), own_view(workspace)
    mode = branches(tmp_path)
    await mode.begin(workspace, "loose")
    agent_works(workspace)
    await mode.finish(workspace, "loose", FinishMethod.DISCARD)
    assert (content(workspace), own_view(workspace)) == (files, seen)
    await mode.begin(workspace, "loose")
    agent_works(workspace)
    ended = await mode.finish(workspace, "loose", FinishMethod.SQUASH)
    assert (workspace / ".git" / "HEAD").read_text().strip() == ended.commit


async def test_a_session_that_began_is_gone_on_with_by_another_process(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    begun = await branches(tmp_path).begin(workspace, "long")
    agent_works(workspace)
    assert await branches(tmp_path).begin(workspace, "long") == begun
    assert await branches(tmp_path).find(workspace, "long") == begun


async def test_a_branch_that_exists_with_commits_of_its_own_is_refused(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "switch", "--quiet", "--create", "portico/old")
    git(workspace, "commit", "--quiet", "--allow-empty", "--message=own")
    git(workspace, "switch", "--quiet", "main")
    before = person_sees(workspace)
    with pytest.raises(InvalidInput, match="portico/old already exists and has its own commits"):
        await branches(tmp_path).begin(workspace, "old")
    assert person_sees(workspace) == before
    git(workspace, "branch", "portico/fresh")
    assert (await branches(tmp_path).begin(workspace, "fresh")).branch == "portico/fresh"


async def test_a_branch_named_portico_is_in_the_way_and_said_so(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "branch", "portico")
    with pytest.raises(InvalidInput, match="A branch named portico exists"):
        await branches(tmp_path).begin(workspace, "x")


@pytest.mark.parametrize("operation", ["rebase", "merge", "cherry-pick"])
async def test_a_repository_in_the_middle_of_something_is_left_alone(tmp_path: Path, operation: str) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "switch", "--quiet", "--create", "other")
    write(workspace, {"a.txt": "other\n"})
    git(workspace, "commit", "--quiet", "--all", "--message=other")
    git(workspace, "switch", "--quiet", "main")
    write(workspace, {"a.txt": "main\n"})
    git(workspace, "commit", "--quiet", "--all", "--message=main")
    with pytest.raises(Exception, match="non-zero exit status"):
        git(workspace, operation, "other")
    before = content(workspace), person_sees(workspace)
    with pytest.raises(SessionBusy, match=f"in the middle of a {operation}"):
        await branches(tmp_path).begin(workspace, "x")
    assert (content(workspace), person_sees(workspace)) == before


async def test_a_repository_without_a_commit_and_a_folder_without_a_repository_say_what_to_do(
    tmp_path: Path,
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(InvalidInput, match="not in a git repository") as caught:
        await branches(tmp_path).begin(plain, "x")
    assert "git init" in (caught.value.suggestion or "")
    git(plain, "init", "--quiet")
    with pytest.raises(InvalidInput, match="no commit yet"):
        await branches(tmp_path).begin(plain, "x")


@pytest.mark.parametrize("slug", ["", "a b", "../up", "-x", "a..b", "x.lock", "end.", "a/b"])
async def test_names_that_cannot_be_branches_are_refused(tmp_path: Path, slug: str) -> None:
    workspace = repository(tmp_path / "w")
    with pytest.raises(InvalidInput, match="cannot be part of the name"):
        await branches(tmp_path).begin(workspace, slug)


async def test_a_home_branch_that_moved_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    mode = branches(tmp_path)
    await mode.begin(workspace, "slow")
    agent_works(workspace)
    other = git(workspace, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "meanwhile")
    git(workspace, "update-ref", "refs/heads/main", other)
    with pytest.raises(InvalidInput, match="main is not where it was"):
        await mode.finish(workspace, "slow", FinishMethod.MERGE)
    await mode.finish(workspace, "slow", FinishMethod.KEEP)
    assert git(workspace, "rev-parse", "main") == other


@pytest.mark.parametrize("ending", [FinishMethod.DISCARD, FinishMethod.KEEP])
async def test_a_home_branch_that_was_deleted_meanwhile_is_there_again(
    tmp_path: Path, ending: FinishMethod
) -> None:
    workspace = dirty(tmp_path / "w")
    files, seen = content(workspace), own_view(workspace)
    mode = branches(tmp_path)
    await mode.begin(workspace, "slow")
    agent_works(workspace)
    git(workspace, "branch", "--quiet", "-D", "main")
    await mode.finish(workspace, "slow", ending)
    assert (content(workspace), own_view(workspace)) == (files, seen)


@pytest.mark.parametrize("ending", list(FinishMethod))
async def test_a_repository_of_which_nothing_is_checked_out_is_worked_in(
    tmp_path: Path, ending: FinishMethod
) -> None:
    repository(tmp_path / "w", a__txt="a\n")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "w", "clone")
    workspace = tmp_path / "clone"
    seen = git(workspace, "status", "--porcelain=v1")
    mode = branches(tmp_path)
    await mode.begin(workspace, "empty")
    write(workspace, {"by/agent": "new\n"})
    ended = await mode.finish(workspace, "empty", ending)
    assert git(workspace, "show", f"{ended.commit}:by/agent") == "new"
    assert git(workspace, "status", "--porcelain=v1") == seen


@pytest.mark.parametrize("where", [("--create", "elsewhere"), ("main",), ("--detach",)])
async def test_a_person_who_switched_away_is_told_to_come_back(
    tmp_path: Path, where: tuple[str, ...]
) -> None:
    workspace = repository(tmp_path / "w")
    mode = branches(tmp_path)
    await mode.begin(workspace, "here")
    git(workspace, "switch", "--quiet", *where)
    with pytest.raises(SessionBusy, match="HEAD is now elsewhere"):
        await mode.finish(workspace, "here", FinishMethod.DISCARD)


async def test_a_branch_that_was_deleted_by_hand_is_made_again_as_it_is_said(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    files, seen = content(workspace), own_view(workspace)
    mode = branches(tmp_path)
    session = await mode.begin(workspace, "here")
    agent_works(workspace)
    git(workspace, "switch", "--quiet", "main")
    git(workspace, "branch", "--quiet", "-D", session.branch)
    for failing in (mode.finish(workspace, "here", FinishMethod.DISCARD), mode.begin(workspace, "here")):
        with pytest.raises(PorticoError) as failure:
            await failing
        assert f"git switch --create {session.branch}" in (failure.value.suggestion or "")
    git(workspace, "switch", "--quiet", "--create", session.branch)
    await mode.finish(workspace, "here", FinishMethod.DISCARD)
    assert (content(workspace), own_view(workspace)) == (files, seen)


async def test_a_locked_index_is_named_and_the_end_can_be_asked_for_again(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    files, seen = content(workspace), own_view(workspace)
    mode = branches(tmp_path)
    await mode.begin(workspace, "again")
    agent_works(workspace)
    worked = content(workspace), person_sees(workspace)
    lock = workspace / ".git" / "index.lock"
    lock.touch()
    for ending in FinishMethod:
        with pytest.raises(SessionBusy, match="Another git process is using"):
            await mode.finish(workspace, "again", ending)
        assert (content(workspace), person_sees(workspace)) == worked
    lock.unlink()
    ended = await mode.finish(workspace, "again", FinishMethod.KEEP)
    assert (content(workspace), own_view(workspace)) == (files, seen)
    assert git(workspace, "show", f"{ended.commit}:by/agent") == "new"


async def test_a_merge_that_was_cut_short_is_finished_by_asking_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Next step of a killed process: nothing."""

    async def die(*_: object) -> None:
        raise Killed

    workspace = dirty(tmp_path / "w")
    mode = branches(tmp_path)
    await mode.begin(workspace, "cut")
    agent_works(workspace)
    worked = content(workspace)
    with monkeypatch.context() as patched:
        patched.setattr("portico.review.branches.session_branches.stage_tree", die)
        with pytest.raises(Killed):
            await mode.finish(workspace, "cut", FinishMethod.SQUASH)
    await mode.finish(workspace, "cut", FinishMethod.SQUASH)
    assert content(workspace) == worked
    assert git(workspace, "rev-list", "--count", "main") == "2"
    assert git(workspace, "diff", "--cached", "--name-only").split("\n") == ["partly", "staged"]
    assert git(workspace, "for-each-ref", "refs/portico/start", "refs/portico/finishing") == ""


async def test_a_submodule_comes_back_with_the_rest(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", code="1\n")
    workspace = repository(tmp_path / "w")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(workspace, "commit", "--quiet", "--message=sub")
    files, seen = content(workspace), own_view(workspace)
    mode = branches(tmp_path)
    await mode.begin(workspace, "inner")
    write(workspace, {"sub/code": "2\n", "sub/new": "n\n"})
    await mode.finish(workspace, "inner", FinishMethod.DISCARD)
    assert (content(workspace), own_view(workspace)) == (files, seen)
