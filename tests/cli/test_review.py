"""`portico review` and `portico checkpoints`: what an agent proposes is looked at, decided on, and taken back."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from portico.domain.events import AnyPayload, CheckpointRestored, ProposalUpdated
from tests.support.program import Portico, Ran

TEN = "".join(f"line {number}\n" for number in range(1, 31))


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *identity, *words), cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


@pytest.fixture
def repository(portico: Portico) -> Path:
    folder = portico.workspace
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "long.txt").write_text(TEN)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def writes(**files: str) -> list[Any]:
    """A turn that writes files through its client; names are written with _ for the dot."""
    return [{"write": {"path": name.replace("_", "."), "content": text}} for name, text in files.items()]


def propose(portico: Portico, steps: list[Any], *flags: str) -> str:
    ran = portico.exec(steps, "--mode", "proposal", *flags)
    assert ran.code == 0, ran.err
    return ran.stream.session_id


async def decisions(portico: Portico, session_id: str) -> list[AnyPayload]:
    kinds = (ProposalUpdated, CheckpointRestored)
    return [event.payload for event in await portico.log(session_id) if isinstance(event.payload, kinds)]


def review(portico: Portico, *words: str, **options: Any) -> Ran:
    return portico.run("review", *words, **options)


def told(ran: Ran) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.api
    return found


async def test_nothing_reaches_the_files_before_it_is_applied_and_the_log_tells_the_whole_story(
    portico: Portico, repository: Path
) -> None:
    session_id = propose(portico, writes(notes_md="hello\n", a_txt="one\nTWO\nthree\n"))
    assert git(repository, "status", "--short") == ""
    shown = review(portico, "show")
    assert shown.text.splitlines()[:3] == ["Proposed: 2 files +2 -1", "  a.txt  +1 -1", "  notes.md  +1  new"]
    applied = review(portico, "apply")
    assert applied.text.startswith("Applied to your files\n")
    assert (repository / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert (repository / "notes.md").read_text() == "hello\n"
    assert review(portico, "undo").code == 0
    assert git(repository, "status", "--short") == ""
    assert review(portico, "discard").text.startswith("Discarded; your files are unchanged\n")
    assert f"Nothing is proposed in session {session_id}" in review(portico, "show").text
    story = [(one.status, one.revision) for one in await decisions(portico, session_id)]  # type: ignore[union-attr]
    assert story == [("open", 1), ("applied", 2), ("open", 3), ("discarded", 4)]


def test_all_sessions_with_something_to_review_are_listed(portico: Portico, repository: Path) -> None:
    session_id = propose(portico, writes(notes_md="hello\n", a_txt="one\nTWO\nthree\n"))
    assert review(portico, "list").text.startswith(f"{session_id}  2 files  ")
    (listed,) = told(review(portico, "list", "--api"))["sessions"]
    assert (listed["session_id"], listed["files"]) == (session_id, 2)
    assert review(portico, "apply").code == 0
    assert review(portico, "list").text == "Nothing to review.\n"


def test_a_patch_in_a_pipe_is_one_that_git_can_apply(portico: Portico, repository: Path) -> None:
    propose(portico, writes(notes_md="hello\n", a_txt="one\nTWO\nthree\n"))
    patch = repository.parent / "change.patch"
    patch.write_bytes(review(portico, "show", "--diff").out)
    git(repository, "apply", str(patch))
    assert (repository / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert (repository / "notes.md").read_text() == "hello\n"


def test_files_folders_and_hunks_are_chosen_by_name(portico: Portico, repository: Path) -> None:
    changed = TEN.replace("line 2\n", "second\n").replace("line 28\n", "twenty-eighth\n")
    steps: list[Any] = [
        {"write": {"path": name, "content": text}}
        for name, text in (("long.txt", changed), ("src/x.py", "x\n"), ("src/y.py", "y\n"), ("b.txt", "b\n"))
    ]
    propose(portico, steps)
    (repository / "src").mkdir()
    assert review(portico, "apply", "x.py", cwd=repository / "src").code == 5
    assert review(portico, "apply", "--cwd", str(repository), "x.py", cwd=repository / "src").code == 0
    assert [path.name for path in (repository / "src").iterdir()] == ["x.py"]
    assert review(portico, "apply", "src").code == 0
    assert (repository / "src" / "y.py").exists()
    file = review(portico, "show", "--file", "long.txt").text
    names = [line.split(" hunk ")[1] for line in file.splitlines() if line.startswith("@@")]
    assert len(names) == 2
    assert review(portico, "apply", "--hunk", names[1][:6]).code == 0
    assert (repository / "long.txt").read_text() == TEN.replace("line 28\n", "twenty-eighth\n")
    assert review(portico, "discard", "long.txt").code == 0
    assert [file["path"] for file in told(review(portico, "show", "--api"))["proposals"][0]["files"]] == [
        "b.txt"
    ]
    assert (repository / "long.txt").read_text() == TEN.replace("line 28\n", "twenty-eighth\n")


def test_a_name_is_first_that_of_a_file_where_the_person_is(portico: Portico, repository: Path) -> None:
    (repository / "sub" / "x").mkdir(parents=True)
    paths = ("a.txt", "sub/a.txt", "x", "sub/x/y.txt")
    steps: list[Any] = [{"write": {"path": path, "content": "agent's\n"}} for path in paths]
    propose(portico, steps)
    here = {"cwd": repository / "sub"}
    assert review(portico, "discard", "--cwd", str(repository), "a.txt", **here).code == 0
    assert review(portico, "apply", "--cwd", str(repository), "x", **here).code == 0
    assert git(repository, "status", "--short", "--untracked-files=all") == "?? sub/x/y.txt\n"
    left = told(review(portico, "show", "--api"))["proposals"][0]["files"]
    assert [file["path"] for file in left] == ["a.txt", "x"]


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "--file", "a.txt"),
        ("discard", "--mine", "a.txt"),
        ("undo", "--hunk", "1"),
        ("revise", "--theirs", "a.txt"),
        ("finish", "keep", "--comment", "no"),
    ],
)
def test_an_option_that_narrows_nothing_is_refused_and_not_left_unheard(
    portico: Portico, repository: Path, words: tuple[str, ...]
) -> None:
    propose(portico, writes(a_txt="1\n", b_txt="2\n"))
    ran = review(portico, *words)
    option = next(word for word in words if word.startswith("--"))
    assert (ran.code, ran.complaint[0]) == (5, f"portico: portico review {words[0]} does not take {option}.")
    assert git(repository, "status", "--short") == ""
    assert len(told(review(portico, "show", "--api"))["proposals"][0]["files"]) == 2


def test_what_is_not_proposed_cannot_be_chosen(portico: Portico, repository: Path) -> None:
    propose(portico, writes(a_txt="1\n"))
    ran = review(portico, "apply", "b.txt")
    assert (ran.code, ran.complaint) == (
        5,
        ["portico: Nothing is proposed for b.txt.", "  There are changes to: a.txt."],
    )
    assert review(portico, "apply", "--hunk", "zz").complaint[0] == "portico: The proposal has no hunk zz."
    assert review(portico, "apply", "--mine", "a.txt", "--theirs", "a.txt").code == 5
    assert review(portico, "show", "--file", "b.txt").code == 5


def test_a_conflict_writes_nothing_until_a_side_is_chosen(portico: Portico, repository: Path) -> None:
    propose(portico, writes(a_txt="one\nTWO\nthree\n", notes_md="hello\n"))
    (repository / "a.txt").write_text("one\n2\nthree\n")
    ran = review(portico, "apply", "--api")
    assert (ran.code, ran.api["status"], ran.api["diagnostics"]["error_code"]) == (
        5,
        "failed",
        "INVALID_INPUT",
    )
    assert "--mine a.txt or --theirs a.txt" in ran.api["diagnostics"]["suggestion"]
    assert git(repository, "status", "--short") == " M a.txt\n"
    file = review(portico, "show", "--file", "a.txt").text
    assert file.endswith("conflict at line 2\n  yours:\n    2\n  the agent's:\n    TWO\n")
    assert "conflict: you changed or removed it" in review(portico, "show").text
    assert review(portico, "apply", "--mine", "a.txt").code == 0
    assert (repository / "a.txt").read_text() == "one\n2\nthree\n"
    assert (repository / "notes.md").exists()
    assert review(portico, "undo").code == 0
    assert review(portico, "apply", "notes.md", "--theirs", "a.txt").code == 0
    assert (repository / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert (repository / "notes.md").exists()


def test_a_conflict_with_a_file_that_is_gone_is_told_as_one(portico: Portico, repository: Path) -> None:
    propose(portico, writes(a_txt="one\nTWO\nthree\n"))
    (repository / "a.txt").unlink()
    told = "portico: Nothing was written: the same lines of a.txt changed meanwhile, or the file is gone."
    ran = review(portico, "apply")
    assert (ran.code, ran.complaint[0]) == (5, told)
    assert not (repository / "a.txt").exists()
    assert "conflict: you changed or removed it" in review(portico, "show").text
    assert review(portico, "apply", "--theirs", "a.txt").code == 0
    assert (repository / "a.txt").read_text() == "one\nTWO\nthree\n"


def test_what_the_person_changed_elsewhere_in_a_file_is_kept(portico: Portico, repository: Path) -> None:
    propose(portico, writes(long_txt=TEN.replace("line 2\n", "second\n")))
    (repository / "long.txt").write_text(TEN + "mine\n")
    ran = review(portico, "apply")
    assert ran.text.splitlines()[0] == "long.txt was merged with your own changes."
    assert (repository / "long.txt").read_text() == TEN.replace("line 2\n", "second\n") + "mine\n"


def test_an_apply_over_which_the_person_wrote_is_not_taken_back(portico: Portico, repository: Path) -> None:
    propose(portico, writes(a_txt="one\nTWO\nthree\n"))
    assert review(portico, "apply").code == 0
    told = "portico: Nothing was undone: the same lines of a.txt have changed since, or the file is gone."
    (repository / "a.txt").write_text("one\nTWO!\nthree\n")
    ran = review(portico, "undo")
    assert (ran.code, ran.complaint[0]) == (5, told)
    assert (repository / "a.txt").read_text() == "one\nTWO!\nthree\n"
    (repository / "a.txt").unlink()
    ran = review(portico, "undo")
    assert (ran.code, ran.complaint[0]) == (5, told)
    assert not (repository / "a.txt").exists()


def test_files_of_secrets_are_shown_and_never_applied(portico: Portico, repository: Path) -> None:
    portico.settings({"review": {"deny": ["dist"]}})
    propose(portico, [{"save": {"path": "dist/out.js", "content": "x\n"}}, *writes(a_txt="1\n")])
    assert "  dist/out.js  +1  new, cannot be applied" in review(portico, "show").text
    ran = review(portico, "apply", "dist/out.js")
    assert (ran.code, ran.complaint[0].startswith("portico: dist/out.js cannot be applied.")) == (1, True)
    ran = review(portico, "apply")
    assert "dist/out.js was skipped: it is protected." in ran.text
    assert not (repository / "dist").exists()


def test_the_agent_is_asked_to_revise_and_its_answer_is_the_next_revision(
    portico: Portico, repository: Path
) -> None:
    session_id = propose(portico, writes(a_txt="one\nTWO\nthree\n", notes_md="hello\n"))
    ran = review(portico, "revise", "a.txt", "--comment", "say deux", "--api")
    assert (ran.code, ran.api["status"], ran.api["sessionId"]) == (0, "completed", session_id)
    assert "say deux" in ran.api["text"]
    assert "+TWO" in ran.api["text"]
    assert "hello" not in ran.api["text"]


def test_a_session_that_proposes_nothing_says_so(portico: Portico, repository: Path) -> None:
    assert review(portico, "show").code == 5
    portico.exec("say hello")
    assert "works in direct mode" in review(portico, "show").text
    assert told(review(portico, "show", "--api"))["proposals"] == []
    for words in (("apply",), ("discard",), ("undo",), ("revise", "--comment", "no"), ("finish", "merge")):
        ran = review(portico, *words)
        assert (ran.code, len(ran.complaint)) == (5, 2), words
    assert review(portico, "finish", "somehow").code == 5
    assert review(portico, "undo", "a.txt").code == 5
    assert portico.run("checkpoints", "restore").code == 5
    assert portico.run("checkpoints", "restore", "nothing").code == 5


def test_a_session_in_the_middle_of_a_turn_is_left_alone(portico: Portico, repository: Path) -> None:
    session_id = propose(portico, writes(a_txt="1\n"))
    running = portico.start_exec("hang", "--session", session_id)
    running.until("running")
    ran = review(portico, "apply", "--session", session_id)
    assert (ran.code, "open in another Portico process" in ran.err) == (1, True)
    assert "1 file" in review(portico, "show", session_id).text
    running.signal(signal.SIGINT)
    running.end()
    assert review(portico, "apply", "--session", session_id).code == 0


@pytest.mark.parametrize("mode", ["branch", "worktree"])
def test_a_folder_without_a_repository_is_offered_another_way(portico: Portico, mode: str) -> None:
    ran = portico.run("exec", "--agent-command", portico.agent, "--mode", mode, "say hello")
    assert ran.code == 5
    assert "git init" in ran.complaint[1]
    assert "proposal" in ran.complaint[1]
    assert told(portico.run("sessions", "list", "--api"))["count"] == 0


def test_work_on_a_branch_is_merged_home_beside_the_persons_own(portico: Portico, repository: Path) -> None:
    (repository / "a.txt").write_text("mine\n")
    assert portico.exec(writes(b_txt="b\n"), "--mode", "branch").code == 0
    assert git(repository, "branch", "--show-current").startswith("portico/")
    assert "works on the branch portico/" in review(portico, "show").text
    ran = review(portico, "finish", "squash", "--message", "Add b")
    assert (ran.code, "refs/heads/main" in ran.text) == (0, True)
    assert git(repository, "show", "--stat", "--format=%s").splitlines()[0] == "Add b"
    assert git(repository, "branch", "--show-current") == "main\n"
    assert git(repository, "status", "--short") == " M a.txt\n"


def test_work_in_a_worktree_is_a_proposal_until_it_comes_home(portico: Portico, repository: Path) -> None:
    steps = [{"save": {"path": "b.txt", "content": "b\n"}}]
    assert portico.exec(steps, "--mode", "worktree").code == 0
    assert not (repository / "b.txt").exists()
    assert "b.txt  +1  new" in review(portico, "show").text
    assert "finish merge" in review(portico, "show").text
    assert told(review(portico, "finish", "merge", "--api"))["reference"] == "refs/heads/main"
    assert git(repository, "status", "--short") == ""
    assert (repository / "b.txt").read_text() == "b\n"


async def test_the_way_back_keeps_what_the_person_did_since(portico: Portico) -> None:
    folder = portico.workspace
    (folder / "a.txt").write_text("one\n")
    session_id = portico.exec(writes(a_txt="agent\n")).stream.session_id
    listed = told(portico.run("checkpoints", "list", "--api"))["checkpoints"]
    before = next(one["checkpointId"] for one in listed if one["moment"] == "before_turn")
    (folder / "mine.txt").write_text("mine\n")
    diff = portico.run("checkpoints", "diff", before, "--stat").text
    assert diff == "  a.txt  +1 -1\n  mine.txt  +1  new\n"
    ran = portico.run("checkpoints", "restore", before)
    assert ran.text.splitlines()[0] == f"Restored checkpoint {before}: 2 files changed"
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]
    assert (folder / "a.txt").read_text() == "one\n"
    assert review(portico, "show").text.splitlines()[:2] == [
        "Your own changes since the checkpoint: 1 file +1",
        "  mine.txt  +1  new",
    ]
    assert review(portico, "apply").code == 0
    assert (folder / "mine.txt").read_text() == "mine\n"
    assert isinstance((await decisions(portico, session_id))[0], CheckpointRestored)


def test_undo_takes_the_latest_proposal_back_and_not_an_older_one_that_is_half_applied(
    portico: Portico,
) -> None:
    folder = portico.workspace
    session_id = portico.exec(writes(a_txt="agent\n")).stream.session_id
    listed = told(portico.run("checkpoints", "list", "--api"))["checkpoints"]
    before = next(one["checkpointId"] for one in listed if one["moment"] == "before_turn")
    for name in ("mine.txt", "other.txt"):
        (folder / name).write_text("mine\n")
    assert portico.run("checkpoints", "restore", before).code == 0
    assert review(portico, "apply", "mine.txt").code == 0
    assert propose(portico, writes(late_txt="late\n"), "--session", session_id) == session_id
    (latest,) = [
        one["proposalId"]
        for one in told(review(portico, "show", "--api"))["proposals"]
        if one["origin"] == "turn"
    ]
    assert review(portico, "apply", "--proposal", latest).code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["late.txt", "mine.txt"]
    assert review(portico, "undo").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt"]


def test_the_mode_is_the_flags_then_the_sessions_then_the_settings(
    portico: Portico, repository: Path
) -> None:
    def mode_of(ran: Ran) -> str:
        started = [line for line in ran.stream.lines if line["type"] == "session_started"]
        return str(started[-1]["payload"]["mode"])

    portico.settings({"review": {"mode": "proposal"}})
    ran = portico.exec("say one")
    assert mode_of(ran) == "proposal"
    session_id = ran.stream.session_id
    assert mode_of(portico.exec("say two", "--session", session_id, "--mode", "direct")) == "direct"
    assert mode_of(portico.exec("say three", "--session", session_id)) == "direct"
    assert mode_of(portico.exec("say four", "--mode", "worktree")) == "worktree"
    assert mode_of(portico.exec("say five", "--read-only")) == "direct"
    assert portico.exec("say six", "--read-only", "--mode", "proposal").code == 5
    assert portico.exec("say seven", "--mode", "careful").code == 5


def test_an_agent_that_writes_the_disk_by_itself_and_by_commands_is_reviewed_all_the_same(
    portico: Portico, repository: Path
) -> None:
    steps: list[Any] = [
        {"save": {"path": "by_itself.txt", "content": "x\n"}},
        {"run": {"command": "sh", "args": ["-c", "echo y > by_command.txt; rm a.txt"]}},
    ]
    propose(portico, steps, "--allow", "execute")
    assert git(repository, "status", "--short") == ""
    files = told(review(portico, "show", "--api"))["proposals"][0]["files"]
    assert [(file["path"], file["operation"]) for file in files] == [
        ("a.txt", "delete"),
        ("by_command.txt", "create"),
        ("by_itself.txt", "create"),
    ]
    assert review(portico, "apply").code == 0
    assert git(repository, "status", "--short") == " D a.txt\n?? by_command.txt\n?? by_itself.txt\n"


def test_every_answer_for_programs_is_one_json_object(portico: Portico, repository: Path) -> None:
    session_id = propose(portico, writes(a_txt="1\n"))
    for words in (("review", "show"), ("review", "show", "--file", "a.txt"), ("checkpoints", "list")):
        found = told(portico.run(*words, "--api"))
        assert (found["status"], found["sessionId"]) == ("ok", session_id)
    applied = told(review(portico, "apply", "--api"))
    assert (applied["proposal"]["status"], applied["merged"], applied["refused"]) == ("applied", [], [])
    assert json.loads(review(portico, "undo", "--api").out)["proposal"]["status"] == "open"
    assert told(review(portico, "discard", "--api"))["proposal"]["status"] == "discarded"
