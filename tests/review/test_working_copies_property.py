"""Whatever a person and an agent do to their trees: neither's work is lost, and the changes are all there is."""

import asyncio
import os
import stat
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.text.change_set import LINK_MODE, ChangeSet, opened_no_further
from portico.review.working_copies.lifecycle import WorkingCopies, WorkingCopy
from portico.review.working_copies.refresh import RefreshResult
from tests.review.folders import SIDES, Files, fill
from tests.review.trees import repository

NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/e/f", "g", "g/h", "ü/x"])
LED = st.tuples(st.sampled_from([b"d", b"../b", b"nowhere"]), st.just(LINK_MODE))
FILE = st.one_of(SIDES, SIDES, LED)
TREES = st.dictionaries(NAMES, FILE, max_size=6)
EDITS = st.lists(st.tuples(NAMES, st.none() | FILE), max_size=6)
Edits = list[tuple[str, tuple[bytes, int] | None]]


def edit(folder: Path, edits: Edits) -> None:
    """Do each edit, unless a file is where a folder is needed, or the other way round."""
    for name, wanted in edits:
        place = folder / name
        above = [folder / parent for parent in place.relative_to(folder).parents[:-1]]
        if any(one.is_file() or one.is_symlink() for one in above):
            continue
        if place.is_symlink():
            place.unlink()
        if place.is_dir():
            continue
        if wanted is None:
            place.unlink(missing_ok=True)
            for parent in place.relative_to(folder).parents[:-1]:
                if (folder / parent).is_dir() and not any((folder / parent).iterdir()):
                    (folder / parent).rmdir()
        else:
            place.unlink(missing_ok=True)
            fill(folder, {name: wanted})


def files(folder: Path) -> Files:
    found: Files = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = (os.fsencode(os.readlink(path)), LINK_MODE)  # noqa: PTH115 - as it is written
        elif path.is_file() and not name.startswith(".git"):
            found[name] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


class Trial:
    """A workspace and a working copy in a folder of their own."""

    def __init__(self, folder: Path, tree: Files, *, in_git: bool) -> None:
        self.folder = folder
        self.workspace = repository(folder / "w", __gitkeep="") if in_git else folder / "w"
        self.workspace.mkdir(exist_ok=True)
        edit(self.workspace, [(name, file) for name, file in sorted(tree.items())])
        self.base = files(self.workspace)

    def working_copies(self) -> WorkingCopies:
        """As another process would have them."""
        return WorkingCopies(self.folder / "state", os.environ)

    async def both_work(
        self, persons: Edits, agents: Edits
    ) -> tuple[WorkingCopy, RefreshResult, ChangeSet, Files]:
        place = await self.working_copies().open(self.workspace, "s1")
        assert files(place.folder) == self.base
        edit(place.folder, agents)
        agent = files(place.folder)
        edit(self.workspace, persons)
        refreshed = await self.working_copies().refresh(place)
        return place, refreshed, await self.working_copies().changes(place), agent


@settings(max_examples=80, deadline=None)
@given(TREES, EDITS, EDITS, st.booleans())
def test_a_refresh_loses_no_change_of_the_agent_and_takes_none_of_the_person(
    tree: Files, persons: Edits, agents: Edits, in_git: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(Path(name), tree, in_git=in_git)
        place, refreshed, changes, agent = asyncio.run(trial.both_work(persons, agents))
        base, person, now = trial.base, files(trial.workspace), files(place.folder)
        emptied = bool(base) and not person and not in_git
        for path in base.keys() | person.keys() | agent.keys():
            if agent.get(path) != base.get(path):
                assert now.get(path) == agent.get(path)
            elif path not in refreshed.left:
                assert now.get(path) == person.get(path)
            else:
                assert now.get(path) == agent.get(path)
        counted = {
            path: file
            for path in base.keys() | person.keys()
            if (file := (base if path in refreshed.left or emptied else person).get(path)) is not None
        }
        fill(trial.folder / "base", counted)
        assert isinstance(
            Applier(trial.folder / "applies").apply(trial.folder / "base", changes), AppliedChanges
        )
        assert files(trial.folder / "base") == as_proposed(now, counted, changes)


def as_proposed(agents: Files, base: Files, changes: ChangeSet) -> Files:
    """The agent's files, none open to more people than it was at the base: to open one is not proposed."""
    came_from = {one.path: one.old_path for one in changes.changes if one.old_path is not None}
    found: Files = {}
    for path, (data, mode) in agents.items():
        was = base.get(came_from.get(path, path))
        found[path] = (data, mode if was is None else opened_no_further(was[1], mode))
    return found


@settings(max_examples=40, deadline=None)
@given(TREES, EDITS, st.data())
def test_once_every_change_is_applied_or_given_up_both_trees_are_one(
    tree: Files, agents: Edits, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(Path(name), tree, in_git=False)

        async def decide() -> None:
            place, _, changes, _ = await trial.both_work([], agents)
            # A folder in the place of a file can only be taken or given up together with it.
            together = data.draw(st.booleans()) if changes.emptied or _clash(changes) else None
            chosen = [
                one for one in changes.changes if together or (together is None and data.draw(st.booleans()))
            ]
            rest = [one for one in changes.changes if one not in chosen]
            applied = ChangeSet(tuple(chosen), emptied=changes.emptied if chosen else ())
            outcome = Applier(trial.folder / "applies").apply(trial.workspace, applied)
            assert isinstance(outcome, AppliedChanges)
            assert await trial.working_copies().follow_decisions(place, applied, ChangeSet(tuple(rest))) == ()
            persons = files(trial.workspace)
            assert as_proposed(files(place.folder), persons, ChangeSet()) == persons
            assert (await trial.working_copies().changes(place)).changes == ()
            if not chosen:
                return
            Applier(trial.folder / "applies").apply(trial.workspace, outcome.undo)
            assert files(trial.workspace) == trial.base
            await trial.working_copies().follow_decisions(place, outcome.undo, ChangeSet())
            again = await trial.working_copies().changes(place)
            assert {one.path for one in again.changes} == {one.path for one in chosen}

        asyncio.run(decide())


def _clash(changes: ChangeSet) -> bool:
    paths = {path for one in changes.changes for path in (one.path, one.old_path) if path is not None}
    return any(parent.as_posix() in paths for path in paths for parent in Path(path).parents)
