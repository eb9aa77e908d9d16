"""A hostile repository names a program wherever git lets it, and none of them is ever run."""

import asyncio
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from portico.components.history.component import history_tools
from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.domain.reviews import ReviewMode
from portico.doors.terminal.input.workspace_files import list_files
from portico.git.private_git import private_git
from portico.git.repository import find_repository, need_repository
from portico.mcp.tools import ToolCall
from portico.porter.search.file_list import collect_files
from portico.porter.search.text_search import TextQuery, search
from portico.porter.workspace import Workspace
from portico.review.branches.session_branches import FinishMethod
from portico.review.proposals.protection import Protection
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from tests.review.trees import content, git, repository, write

ATTRIBUTES = """\
*.evil filter=evil diff=evil merge=evil
*.worktree filter=worktree merge=worktree
*.included filter=included
*.set filter=set
"""
DRIVERS = {
    "filter.{}": ("clean", "smudge"),
    "diff.{}": ("command", "textconv"),
    "merge.{}": ("driver",),
}
PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor", "core.askPass"),
    *("core.alternateRefsCommand", "sequence.editor", "diff.external", "gpg.program", "gpg.ssh.program"),
    *("gpg.x509.program", "gpg.ssh.defaultKeyCommand", "credential.helper", "uploadpack.packObjectsHook"),
    *("credential.https://example.com.helper", "trailer.sign.command", "trailer.sign.cmd"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "pager.log", "pager.diff", "alias.ls-files"),
    *("alias.log", "interactive.diffFilter", "gc.recentObjectsHook", "hook.evil.command", "sendemail.smtpserver"),
    *("browser.evil.cmd", "man.evil.cmd", "difftool.evil.cmd", "mergetool.evil.cmd", "guitool.evil.cmd"),
)  # fmt: skip
SWITCHES = {
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "log.showSignature": "true",
    "merge.renormalize": "true",
    "submodule.recurse": "true",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.vcs": "evil",
    "filter.included.required": "true",
    "merge.evil.recursive": "evil",
}
HOOKS = (
    *("reference-transaction", "post-index-change", "post-checkout", "pre-commit", "post-commit"),
    *("commit-msg", "prepare-commit-msg", "post-merge", "pre-auto-gc", "fsmonitor-watchman", "post-rewrite"),
)  # fmt: skip


class Hostile:
    """A repository with two commits whose every program leaves a mark of its name in `marks`."""

    def __init__(self, home: Path) -> None:
        self.marks = home / "marks"
        self.marks.mkdir()
        self.root = repository(home / "work", a__txt="one\n", b__evil="two\n", c__set="three\n")
        self._git("config", "extensions.worktreeConfig", "true")
        write(self.root, {"d.worktree": "four\n", "e.included": "five\n", ".gitattributes": ATTRIBUTES})
        self._git("add", ".")
        self._git("commit", "--quiet", "-m", "second")
        write(self.root, {"a.txt": "one and mine\n", "b.evil": "two and mine\n", "new.evil": "six\n"})
        for name in ("c.set", "d.worktree", "e.included"):
            (self.root / name).touch()  # Git reads again what has another time.
        self._arm()

    def _git(self, *words: str) -> None:
        git(self.root, *words)

    def _mark(self, name: str) -> str:
        return f"touch '{self.marks / name.replace('/', '-')}'; cat; true"

    def _arm(self) -> None:
        """Write the config files at once: a hundred runs of git config would take a while."""
        for driver, name in (
            ("evil", "config"), ("set", "config"), ("worktree", "config.worktree"), ("included", "more")
        ):  # fmt: skip
            keys = [f"{section.format(driver)}.{key}" for section, found in DRIVERS.items() for key in found]
            self._write(name, {key: self._mark(key) for key in keys})
        self._write("config", {"filter.set.process": self._mark("filter.set.process")})
        self._write("config", {"include.path": "more", "remote.origin.url": "ext::sh -c touch% marked"})
        self._write("config", {key: self._mark(key) for key in PROGRAMS} | SWITCHES)
        for event in HOOKS:
            self._write("config", {"hook.evil.event": event})
            hook = self.root / ".git" / "hooks" / event
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\n{self._mark(event)}\n")
            hook.chmod(0o755)

    def _write(self, name: str, settings: dict[str, str]) -> None:
        with (self.root / ".git" / name).open("a") as file:
            for key, value in settings.items():
                section, _, rest = key.partition(".")
                inner, _, last = rest.rpartition(".")
                head = f'[{section} "{inner}"]' if inner else f"[{section}]"
                file.write(f'{head}\n\t{last} = "{value}"\n')

    def check(self) -> None:
        assert self.left() == set()

    def left(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def reviews_of(home: Path, *, trusted: bool = False) -> ReviewService:
    return ReviewService.at(
        home / "state", os.environ, ManualClock(), protect=lambda _: Protection(run_filters=trusted)
    )


async def take_turn(
    reviews: ReviewService, work: Path, mode: ReviewMode, files: dict[str, str]
) -> list[AnyPayload]:
    await reviews.check(work, mode)
    review = await reviews.open("s1", work, mode)
    payloads = [*await review.begin_turn("Make it better")]
    write(review.folder, files)
    return [*payloads, *await review.end_turn()]


def test_the_trap_works_for_a_person_who_runs_git_there(hostile: Hostile) -> None:
    """Else the tests below would prove nothing."""
    for words in (("add", "."), ("log", "-p"), ("update-ref", "refs/heads/other", "HEAD")):
        subprocess.run(("git", *words), cwd=hostile.root, check=False, capture_output=True)
    drivers = {"filter.evil.clean", "diff.evil.textconv", "filter.set.process", "filter.worktree.clean"}
    assert {*drivers, "core.fsmonitor", "reference-transaction"} <= hostile.left()


@pytest.mark.parametrize("ending", list(FinishMethod))
@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_a_session_with_a_branch_of_its_own_runs_no_program_of_the_repository(
    hostile: Hostile, tmp_path: Path, mode: ReviewMode, ending: FinishMethod
) -> None:
    before = content(hostile.root)
    reviews = reviews_of(tmp_path)
    await take_turn(reviews, hostile.root, mode, {"agent.txt": "agent\n", "a.txt": "agent\none and mine\n"})
    await reviews.status("s1")
    try:
        await reviews.finish("s1", ending)
    except InvalidInput:
        assert ending in (FinishMethod.MERGE, FinishMethod.SQUASH), "The same lines were changed."
        await reviews.finish("s1", FinishMethod.DISCARD)
        ending = FinishMethod.DISCARD
    hostile.check()
    if ending in (FinishMethod.KEEP, FinishMethod.DISCARD):
        assert content(hostile.root) == before


@pytest.mark.parametrize("trusted", [True, False])
async def test_files_that_have_no_filter_are_merged_without_running_one(
    hostile: Hostile, tmp_path: Path, trusted: bool
) -> None:
    reviews = reviews_of(tmp_path, trusted=trusted)
    await take_turn(reviews, hostile.root, "branch", {"agent.txt": "agent\n"})
    outcome = await reviews.finish("s1", FinishMethod.MERGE)
    hostile.check()
    shown = (await need_repository(hostile.root, os.environ)).git
    listed = (await shown.run("ls-tree", "-r", "-z", "--name-only", outcome.ended.commit)).names
    assert "agent.txt" in listed
    assert "new.evil" not in listed
    assert (await shown.run("cat-file", "blob", f"{outcome.ended.commit}:b.evil")).output == b"two\n"


async def test_a_proposal_a_checkpoint_and_a_restore_run_no_program_of_the_repository(
    hostile: Hostile, tmp_path: Path
) -> None:
    reviews = reviews_of(tmp_path)
    before = content(hostile.root)
    payloads = await take_turn(reviews, hostile.root, "proposal", {"b.evil": "agent\n", "f.txt": "new\n"})
    (told,) = [one for one in payloads if isinstance(one, ProposalUpdated)]
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert (hostile.root / "b.evil").read_text() == "agent\n"
    checkpoint = (await reviews.checkpoints("s1"))[-1]
    await reviews.compare("s1", checkpoint.id)
    await reviews.restore("s1", checkpoint.id)
    assert content(hostile.root) == before
    hostile.check()


async def test_a_direct_turn_runs_no_program_of_the_repository(hostile: Hostile, tmp_path: Path) -> None:
    reviews = reviews_of(tmp_path)
    await take_turn(reviews, hostile.root, "direct", {"b.evil": "agent\n"})
    await take_turn(reviews, hostile.root, "direct", {"c.set": "agent\n"})
    hostile.check()


async def test_looking_for_files_and_words_runs_no_program_of_the_repository(hostile: Hostile) -> None:
    assert hostile.root / "a.txt" in await collect_files(hostile.root, os.environ)
    assert "a.txt" in await asyncio.to_thread(list_files, hostile.root)
    workspace = Workspace(hostile.root)
    found = await search(TextQuery(text="mine"), workspace, None, 100, os.environ)
    assert {match.path.name for match in found.matches} == {"a.txt", "b.evil"}
    hostile.check()


async def test_a_submodule_with_programs_of_its_own_runs_none(hostile: Hostile, tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer", a__txt="one\n")
    words = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(hostile.root), "inner")
    git(outer, *words)
    git(outer, "commit", "--quiet", "-m", "inner")
    inner = outer / "inner"
    for name in ("clean", "smudge", "process"):
        git(inner, "config", f"filter.evil.{name}", f"touch '{hostile.marks / name}'; cat")
    git(inner, "config", "core.fsmonitor", f"touch '{hostile.marks / 'fsmonitor'}'")
    for path in hostile.marks.iterdir():
        path.unlink()
    write(inner, {"b.evil": "changed inside\n"})
    reviews = reviews_of(tmp_path)
    await take_turn(reviews, outer, "branch", {"agent.txt": "agent\n", "inner/b.evil": "agent\n"})
    with pytest.raises(InvalidInput, match="submodule inner"):
        await reviews.finish("s1", FinishMethod.KEEP)
    await reviews.finish("s1", FinishMethod.MERGE)
    hostile.check()


async def test_a_config_that_is_written_while_git_works_names_nothing_that_is_run(
    hostile: Hostile, tmp_path: Path
) -> None:
    """The private folder is made before; what the repository's config says after that is not read."""
    found = await need_repository(hostile.root, os.environ)
    async with private_git(found, tmp_path / "scratch") as private:
        git(hostile.root, "config", "filter.late.clean", f"touch '{hostile.marks / 'late'}'; cat")
        write(hostile.root, {".gitattributes": "* filter=late\n", "late.txt": "late\n"})
        await private.run("update-index", "--add", "late.txt")
    hostile.check()


@pytest.mark.parametrize("named", ["../..", "/", "elsewhere"])
async def test_a_repository_that_names_another_folder_as_its_work_tree_is_none(
    tmp_path: Path, named: str
) -> None:
    work = repository(tmp_path / "work", a__txt="one\n")
    (work / "elsewhere").mkdir()
    git(work, "config", "core.worktree", named if named != "elsewhere" else str(work / named))
    assert await find_repository(work, os.environ) is None
    assert await find_repository(work / "elsewhere", os.environ) is None


async def test_a_folder_that_looks_like_a_bare_repository_is_none(hostile: Hostile, tmp_path: Path) -> None:
    disguised = tmp_path / "disguised"
    git(tmp_path, "init", "--quiet", "--bare", str(disguised))
    for key, value in (("core.bare", "false"), ("core.worktree", "."), ("core.fsmonitor", "touch marked")):
        git(tmp_path, "config", "--file", str(disguised / "config"), key, value)
    assert await find_repository(disguised, os.environ) is None
    assert not (disguised / "marked").exists()


async def test_objects_that_are_missing_are_not_fetched(hostile: Hostile) -> None:
    found = await need_repository(hostile.root, os.environ)
    missing = await found.git.ask("cat-file", "blob", "1" * 40)
    assert missing.code != 0
    hostile.check()
    assert not (hostile.root / "marked").exists()


def notices(payloads: Sequence[AnyPayload]) -> list[str]:
    return [one.text for one in payloads if isinstance(one, Notice)]


ROTATED = "tr 'a-z' 'n-za-m'"


@pytest.fixture
def rotated(tmp_path: Path) -> Path:
    """A repository in which git keeps *.rot in another form than the disk has."""
    work = repository(tmp_path / "work", a__txt="one\n")
    git(work, "config", "filter.rot.clean", ROTATED)
    git(work, "config", "filter.rot.smudge", ROTATED)
    git(work, "config", "filter.rot.required", "true")
    write(
        work,
        {".gitattributes": "*.rot filter=rot\n*.crlf text eol=crlf\n*.utf16 working-tree-encoding=UTF-16\n"},
    )
    write(work, {"kept.rot": "hello\n", "changed.rot": "hello\n", "edited.rot": "hello\n"})
    (work / "l.crlf").write_bytes(b"one\r\ntwo\r\n")
    (work / "w.utf16").write_bytes("wide\n".encode("utf-16"))
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "rotated")
    write(work, {"edited.rot": "my own words\n", "new.rot": "untracked\n"})
    return work


def committed(work: Path, commit: str, path: str) -> str:
    return git(work, "cat-file", "blob", f"{commit}:{path}") + "\n"


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_a_session_has_the_bytes_that_the_person_has_and_unchanged_files_stay_unchanged(
    rotated: Path, tmp_path: Path, mode: ReviewMode, trusted: bool
) -> None:
    before = content(rotated)
    reviews = reviews_of(tmp_path, trusted=trusted)
    review = await reviews.open("s1", rotated, mode)
    await review.begin_turn("Look")
    assert {name: data for name, data in content(review.folder).items() if name in before} == before
    for name in ("kept.rot", "edited.rot"):
        os.utime(review.folder / name)
    write(review.folder, {"a.txt": "agent\n"})
    payloads = await review.end_turn()
    for one in payloads:
        if isinstance(one, ProposalUpdated):
            assert [file.path for file in one.files] == ["a.txt"]
    outcome = await reviews.finish("s1", FinishMethod.MERGE)
    assert notices(outcome.payloads) == []
    assert committed(rotated, outcome.ended.commit, "a.txt") == "agent\n"
    assert committed(rotated, outcome.ended.commit, "kept.rot") == "uryyb\n"
    assert committed(rotated, outcome.ended.commit, "edited.rot") == "uryyb\n"
    assert content(rotated) == {**before, "a.txt": ("file", b"agent\n")}
    assert git(rotated, "status", "--porcelain").splitlines() == [" M edited.rot", "?? new.rot"]


@pytest.mark.parametrize("ending", [FinishMethod.MERGE, FinishMethod.SQUASH, FinishMethod.KEEP])
@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_in_a_trusted_folder_a_changed_file_is_committed_through_its_filter_and_that_is_said(
    rotated: Path, tmp_path: Path, mode: ReviewMode, ending: FinishMethod
) -> None:
    reviews = reviews_of(tmp_path, trusted=True)
    await take_turn(reviews, rotated, mode, {"changed.rot": "bye\n", "made.rot": "made\n"})
    outcome = await reviews.finish("s1", ending)
    assert committed(rotated, outcome.ended.commit, "changed.rot") == "olr\n"
    assert committed(rotated, outcome.ended.commit, "made.rot") == "znqr\n"
    assert committed(rotated, outcome.ended.commit, "kept.rot") == "uryyb\n"
    assert notices(outcome.payloads) == ["changed.rot, made.rot passed through a filter of this repository."]
    assert (rotated / "edited.rot").read_text() == "my own words\n"


@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_in_another_folder_a_changed_file_stays_with_the_person_uncommitted_and_that_is_said(
    rotated: Path, tmp_path: Path, mode: ReviewMode
) -> None:
    reviews = reviews_of(tmp_path)
    await take_turn(reviews, rotated, mode, {"changed.rot": "bye\n", "a.txt": "agent\n"})
    with pytest.raises(InvalidInput, match=r"changed\.rot on a branch"):
        await reviews.finish("s1", FinishMethod.KEEP)
    outcome = await reviews.finish("s1", FinishMethod.MERGE)
    assert committed(rotated, outcome.ended.commit, "changed.rot") == "uryyb\n"
    assert committed(rotated, outcome.ended.commit, "a.txt") == "agent\n"
    assert (rotated / "changed.rot").read_text() == "bye\n"
    (told,) = notices(outcome.payloads)
    assert told.startswith("changed.rot stayed in your files, uncommitted")


@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_what_is_discarded_can_be_found_again_byte_for_byte(
    rotated: Path, tmp_path: Path, mode: ReviewMode
) -> None:
    before = content(rotated)
    reviews = reviews_of(tmp_path)
    await take_turn(reviews, rotated, mode, {"changed.rot": "bye\n"})
    outcome = await reviews.finish("s1", FinishMethod.DISCARD)
    assert committed(rotated, outcome.ended.commit, "changed.rot") == "bye\n"
    assert content(rotated) == before


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_log", {"path": "b.evil"}),
        ("git_blame", {"path": "b.evil"}),
        ("git_show", {}),
        ("git_show", {"path": "b.evil", "content": True}),
        ("git_diff", {}),
        ("git_diff", {"base": "HEAD~1", "target": "HEAD"}),
        ("git_pickaxe", {"text": "two"}),
        ("git_pickaxe", {"text": "t.o", "regex": True}),
        ("who_knows", {}),
    ],
)
async def test_agents_ask_about_history_and_nothing_is_run(
    hostile: Hostile, tool: str, arguments: dict[str, Any]
) -> None:
    (asked,) = [one for one in history_tools(os.environ) if one.name == tool]
    assert await asked.run(ToolCall(arguments, "s", str(hostile.root), lambda *_: None))
    hostile.check()
