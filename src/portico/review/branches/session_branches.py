"""Branch mode: a session works in the person's tree on `portico/<slug>`, and its start can be brought back
exactly.

To begin touches no file and not the index: a branch is made where HEAD is, and HEAD named after it. The start
is kept twice: its bytes as a checkpoint, its meaning to git as commits under refs/portico/start. Every step
of an end can be taken again, so an end that was cut short is finished by asking for it once more.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import Notice
from portico.files.private import copy_private, make_private_folder
from portico.git.repository import Repository, need_repository, submodule_of
from portico.review.branches.filtered_files import BranchStart, ComparedTrees, FilteredFiles
from portico.review.branches.submodules import SubmodulePosition, Submodules
from portico.review.checkpoints.checkpoint import Moment
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.git.tree_changes import tree_changes
from portico.review.git.uncommitted_work import (
    check_index_free,
    commit,
    install_index,
    keep_work,
    merge_trees,
    stage_tree,
    tree_of,
    uncommitted,
)

PREFIX = "portico/"
_SLUG = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|$|lock$))*")
_NO_COMMIT = ""


class FinishMethod(StrEnum):
    """The end of a session's branch: merged, squashed into one commit, kept as a ref, or discarded."""

    MERGE = "merge"
    SQUASH = "squash"
    KEEP = "keep"
    DISCARD = "discard"


class BranchSession(msgspec.Struct, frozen=True, kw_only=True):
    """Branch of a session and its starting point. `home_branch` is None if HEAD was detached."""

    slug: str
    branch: str
    home_branch: str | None
    home_commit: str
    files: str
    staged: str
    checkpoint: str
    intended: tuple[bytes, ...] = ()
    submodules: tuple[SubmodulePosition, ...] = ()
    filtered: tuple[bytes, ...] = ()

    @property
    def start(self) -> BranchStart:
        return BranchStart(self.files, frozenset(map(os.fsdecode, self.filtered)), self.checkpoint)


class FinishedWork(msgspec.Struct, frozen=True):
    """Commit with the session's work, the ref that names it, and messages for the person."""

    ending: FinishMethod
    commit: str
    reference: str
    notices: tuple[Notice, ...] = ()


class Branches:
    """Branch mode for all repositories. `folder` is in the state folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str], checkpoints: Checkpoints) -> None:
        self._folder = folder
        self._environ = environ
        self._checkpoints = checkpoints

    async def begin(self, workspace: Path, slug: str) -> BranchSession:
        """Take a checkpoint and switch to the session's branch, or continue on it."""
        if not _SLUG.fullmatch(slug):
            raise InvalidInput(
                f"“{slug}” cannot be part of the name of a branch.",
                suggestion="Use letters, digits, dashes and single dots.",
            )
        repository = await need_repository(workspace, self._environ)
        head, home = await repository.settled_head()
        branch = PREFIX + slug
        begun = await self._find(repository, slug)
        if begun is not None and head.branch == branch:
            return begun
        await self._check_free(repository, branch, home, begun, head.branch)
        work = await keep_work(repository, self._folder)
        checkpoint = await self._checkpoints.create(repository.root, f"Before {branch}", Moment.BEFORE_BRANCH)
        session = BranchSession(
            slug=slug,
            branch=branch,
            home_branch=head.branch,
            home_commit=home,
            files=work.files,
            staged=work.staged,
            checkpoint=checkpoint.id,
            intended=work.intended,
            filtered=tuple(map(os.fsencode, work.filtered)),
            submodules=await self._submodules(slug).keep(repository),
        )
        await self._record(repository, session)
        if await repository.branch_commit(branch) is None:
            await repository.git.run("update-ref", f"refs/heads/{branch}", home, _NO_COMMIT)
        await repository.git.run(
            "symbolic-ref", "-m", f"portico: begin {slug}", "HEAD", f"refs/heads/{branch}"
        )
        return session

    async def find(self, workspace: Path, slug: str) -> BranchSession | None:
        """A session that has begun and not finished."""
        return await self._find(await need_repository(workspace, self._environ), slug)

    async def taken(self, workspace: Path, slug: str) -> bool:
        """Whether a new session would need another name."""
        repository = await need_repository(workspace, self._environ)
        if await self._find(repository, slug) is not None:
            return True
        return await repository.branch_commit(PREFIX + slug) is not None

    async def finish(
        self,
        workspace: Path,
        slug: str,
        ending: FinishMethod,
        message: str | None = None,
        *,
        run_filters: bool = False,
    ) -> FinishedWork:
        """End a session. Whatever the ending, the person's own uncommitted work is uncommitted again.

        Filters of the repository run only on files that the session changed, and only with `run_filters`.
        """
        repository = await need_repository(workspace, self._environ)
        session = await self._find(repository, slug)
        if session is None:
            raise InvalidInput(f"No session {slug} has begun in {repository.root}.")
        head, _ = await repository.settled_head()
        if head.branch != session.branch and await repository.commit_of(_finishing(slug)) is None:
            raise SessionBusy(
                f"The session {slug} works on {session.branch}, but HEAD is now elsewhere.",
                suggestion=f"Switch back and finish it there: {await _switch(repository, session.branch)}",
            )
        check_index_free(repository)
        said = message or f"{slug}\n\nBy a session of Portico.\n"
        work = await keep_work(repository, self._folder)
        files = FilteredFiles(repository, self._checkpoints, self._folder)
        if ending is FinishMethod.DISCARD:
            sides = await files.as_they_are(session.start, work)
        else:
            must = ending is FinishMethod.KEEP
            sides = await files.committed(session.start, work, run_filters=run_filters, must=must)
        finishing = (
            self._put_aside if ending in (FinishMethod.KEEP, FinishMethod.DISCARD) else self._bring_home
        )
        ended = await finishing(repository, session, sides, ending, said)
        await self._checkpoints.release(repository.root, session.checkpoint)
        await repository.git.run("update-ref", "-d", _start(slug))
        await repository.git.run("update-ref", "-d", _finishing(slug))
        self._index(repository, slug).unlink(missing_ok=True)
        await self._submodules(slug).forget(repository, session.submodules)
        return msgspec.structs.replace(ended, notices=sides.notices)

    async def _put_aside(
        self,
        repository: Repository,
        session: BranchSession,
        sides: ComparedTrees,
        ending: FinishMethod,
        message: str,
    ) -> FinishedWork:
        submodules = self._submodules(session.slug)
        await submodules.check(repository, session.submodules)
        if ending is FinishMethod.KEEP:
            await self._check_submodules(repository, session)
        tip = await repository.branch_commit(session.branch) or session.home_commit
        if not await self._is_back(repository, session, sides):
            started = tip == session.home_commit and sides.before != await tree_of(repository, tip)
            if started:
                tip = await commit(
                    repository, sides.before, [tip], "Uncommitted work when the session began\n"
                )
            tip = await commit(repository, sides.after, [tip], message)
        if ending is FinishMethod.KEEP:
            reference = f"refs/heads/{session.branch}"
        else:
            reference = f"refs/portico/discarded/{session.slug}/{tip[:12]}"
        await repository.git.run("update-ref", "-m", f"portico: {ending}", reference, tip)
        await repository.git.run("update-ref", _finishing(session.slug), tip)
        await self._checkpoints.restore(repository.root, session.checkpoint)
        aside = "kept" if ending is FinishMethod.KEEP else "discarded"
        await submodules.bring_back(repository, session.submodules, f"refs/portico/{aside}/{session.slug}")
        saved = self._index(repository, session.slug)
        if saved.exists():
            install_index(repository, saved)
        else:
            await stage_tree(repository, session.staged, self._folder, session.intended)
        await self._go_home(repository, session, session.home_commit)
        if ending is FinishMethod.DISCARD:
            await repository.git.run("update-ref", "-d", f"refs/heads/{session.branch}")
        return FinishedWork(ending, tip, reference)

    async def _is_back(self, repository: Repository, session: BranchSession, sides: ComparedTrees) -> bool:
        """Whether the files are those of the start; after an end that was cut short, submodules may be elsewhere."""
        if sides.after == sides.before or await repository.commit_of(_finishing(session.slug)) is None:
            return sides.after == sides.before
        return not await tree_changes(repository.git, sides.before, sides.after)

    async def _check_submodules(self, repository: Repository, session: BranchSession) -> None:
        """InvalidInput if the session has work in a submodule that is in no commit and about to be put aside."""
        submodules = await repository.submodules()
        changed = await self._checkpoints.diff(repository.root, session.checkpoint) if submodules else ()
        paths = {each.path for each in changed}
        for folder in sorted({one for path in paths if (one := submodule_of(path, submodules))}):
            inner = await need_repository(repository.root / folder, self._environ)
            unsaved = await uncommitted(inner, self._folder)
            if any(f"{folder}/{path}" in paths for path in unsaved):
                raise InvalidInput(
                    f"The session has changed files in the submodule {folder}, which {session.branch} cannot hold.",
                    suggestion=f"Commit them there (git -C {folder} commit), or finish with merge or squash, which "
                    "leave them in your files.",
                )

    async def _bring_home(
        self,
        repository: Repository,
        session: BranchSession,
        sides: ComparedTrees,
        ending: FinishMethod,
        message: str,
    ) -> FinishedWork:
        home = session.home_commit
        home_tree = await tree_of(repository, home)
        merged = await merge_trees(repository, sides.before, home_tree, sides.after, self._folder)
        staged = await merge_trees(repository, home_tree, session.staged, merged, self._folder)
        tip = await repository.branch_commit(session.branch) or home
        result = await self._already_home(repository, session, merged)
        if result is None:
            if ending is FinishMethod.SQUASH:
                parents = [home]
            else:
                if merged != await tree_of(repository, tip):
                    tip = await commit(repository, merged, [tip], message)
                parents = [home, tip]
            nothing = merged == home_tree and tip == home
            result = home if nothing else await commit(repository, merged, parents, message)
        await repository.git.run("update-ref", _finishing(session.slug), result)
        await self._go_home(repository, session, result)
        await stage_tree(repository, staged, self._folder, session.intended)
        await repository.git.run("update-ref", "-d", f"refs/heads/{session.branch}")
        return FinishedWork(
            ending, result, f"refs/heads/{session.home_branch}" if session.home_branch else "HEAD"
        )

    async def _already_home(self, repository: Repository, session: BranchSession, merged: str) -> str | None:
        """The commit an earlier, unfinished end has made. An error if the branch moved for other reasons."""
        if session.home_branch is None:
            return None
        now = await repository.branch_commit(session.home_branch)
        if now == session.home_commit:
            return None
        parent = await repository.commit_of(f"refs/heads/{session.home_branch}^1")
        if now is not None and parent == session.home_commit and await tree_of(repository, now) == merged:
            return now
        raise InvalidInput(
            f"{session.home_branch} is not where it was when the session began.",
            suggestion=f"Finish with keep and merge {session.branch} into it by hand.",
        )

    async def _go_home(self, repository: Repository, session: BranchSession, to: str) -> None:
        """HEAD as it was named at the start, moved on to a commit. Touches neither files nor index."""
        note = f"portico: finish {session.slug}"
        if session.home_branch is None:
            await repository.git.run("update-ref", "--no-deref", "-m", note, "HEAD", to)
            return
        reference = f"refs/heads/{session.home_branch}"
        gone = await repository.branch_commit(session.home_branch) is None
        if gone or to != session.home_commit:
            await repository.git.run("update-ref", "-m", note, reference, to)
        await repository.git.run("symbolic-ref", "-m", note, "HEAD", reference)

    async def _check_free(
        self, repository: Repository, branch: str, home: str, begun: BranchSession | None, current: str | None
    ) -> None:
        if begun is not None:
            raise InvalidInput(
                f"A session {begun.slug} has begun on {branch} and is not finished.",
                suggestion=f"Continue it with {await _switch(repository, branch)}, or choose another name.",
            )
        await repository.need_room_for_branches()
        if branch == current:
            raise InvalidInput(
                f"HEAD is on {branch} already, and no session has begun there.",
                suggestion="Switch to the branch you want to come back to, or choose another name.",
            )
        if await repository.branch_commit(branch) not in (None, home):
            raise InvalidInput(
                f"{branch} already exists and has its own commits.",
                suggestion="Merge or delete it, or choose another name.",
            )
        listed = (await repository.git.run("worktree", "list", "--porcelain")).text.split("\n")
        if f"branch refs/heads/{branch}" in listed:
            raise InvalidInput(
                f"{branch} is checked out in another worktree.", suggestion="Choose another name."
            )

    async def _record(self, repository: Repository, session: BranchSession) -> None:
        staged = await commit(repository, session.staged, [session.home_commit], "What was staged\n")
        message = msgspec.json.encode(session).decode()
        start = await commit(repository, session.files, [session.home_commit, staged], message)
        place = self._index(repository, session.slug)
        make_private_folder(place.parent)
        with contextlib.suppress(FileNotFoundError):  # There is none where nothing was ever checked out.
            copy_private(repository.git_folder / "index", place)
        await repository.git.run("update-ref", _start(session.slug), start)

    async def _find(self, repository: Repository, slug: str) -> BranchSession | None:
        if not _SLUG.fullmatch(slug) or await repository.commit_of(_start(slug)) is None:
            return None
        answer = await repository.git.run("log", "-1", "--no-show-signature", "--format=%B", _start(slug))
        return codecs.decode_json(answer.output, BranchSession)

    def _submodules(self, slug: str) -> Submodules:
        return Submodules(self._folder, self._environ, lambda inner: self._index(inner, slug))

    def _index(self, repository: Repository, slug: str) -> Path:
        key = hashlib.sha256(os.fsencode(repository.git_folder)).hexdigest()[:24]
        return self._folder / key / f"{slug}.index"


async def _switch(repository: Repository, branch: str) -> str:
    """Command that switches to a branch, even one that has been deleted."""
    there = await repository.branch_commit(branch) is not None
    return f"git switch {branch}" if there else f"git switch --create {branch}"


def _start(slug: str) -> str:
    return f"refs/portico/start/{slug}"


def _finishing(slug: str) -> str:
    """There while an end is under way: HEAD may be home already then."""
    return f"refs/portico/finishing/{slug}"
