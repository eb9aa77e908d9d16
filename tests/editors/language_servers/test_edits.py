"""Renames and code actions: the new texts of the files, and no change made meanwhile is lost."""

from pathlib import Path

import pytest

from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import CodeLookup
from portico.editors.language_servers.edits import apply_edits
from portico.editors.language_servers.positions import TextLines
from portico.editors.language_servers.wire import LspPosition, LspRange, LspTextEdit
from tests.editors.language_servers.support import Workspace, scripted, workspace


async def renamed(here: Workspace, name: str, column: int, new: str) -> dict[str, str | None]:
    place = CodeLookup(kind="definition", path=str(here.folder / name), column=column)
    edits = await here.servers.rename(here.tree, place, new)
    return {Path(edit.path).name: edit.content for edit in edits}


async def test_a_rename_is_told_as_the_new_texts_and_nothing_is_written(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(encoding="utf-8")) as here:
        here.write("b.txt", "nothing\n")
        here.write("a.txt", "🐍 def thing\nuse thing, things\n")
        await here.ask("symbols", "a.txt")
        here.write("b.txt", "also thing\n")
        assert await renamed(here, "a.txt", 8, "other") == {
            "a.txt": "🐍 def other\nuse other, things\n",
            "b.txt": "also other\n",
        }
        assert (here.folder / "b.txt").read_text() == "also thing\n"


async def test_a_rename_that_touches_unsaved_text_is_made_for_that_text(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted()) as here:
        here.write("a.txt", "def thing\n")
        other = here.write("b.txt", "nothing\n")
        await here.ask("symbols", "a.txt")
        other.write_text("use thing\n")
        # The editor has lines before it that are not saved.
        here.unsaved[str(other)] = "first line\nuse thing twice: thing\n"
        assert await renamed(here, "a.txt", 5, "other") == {
            "a.txt": "def other\n",
            "b.txt": "first line\nuse other twice: other\n",
        }


async def test_a_rename_that_could_miss_uses_is_refused(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.progress.SETTLE_SECONDS", 0.01)
    async with workspace(tmp_path / "w", own_home, **scripted(progress=40)) as here:
        here.write("a.txt", "def thing\n")
        await here.ask("symbols", "a.txt")
        with pytest.raises(LanguageServerFailed, match="still indexing, 40 %; a rename now could miss uses"):
            await renamed(here, "a.txt", 5, "other")


async def test_an_edit_outside_of_the_workspace_is_refused(tmp_path: Path, own_home: Path) -> None:
    somewhere = {
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "newText": "x",
    }
    foreign = {f"file://{tmp_path}/outside.txt": [somewhere]}
    async with workspace(tmp_path / "w", own_home, **scripted(foreign=foreign)) as here:
        here.write("a.txt", "def thing\n")
        with pytest.raises(LanguageServerFailed, match="outside the workspace"):
            await renamed(here, "a.txt", 5, "other")


async def test_an_action_is_listed_and_applied_to_the_problems_of_its_line(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted()) as here:
        here.write("a.txt", "good\nBAD and BAD\nBAD\n")
        place = CodeLookup(kind="definition", path=str(here.folder / "a.txt"), line=1)
        (action,) = await here.servers.actions(here.tree, place)
        assert (action.title, action.kind) == ("Make it good", "quickfix")
        (edit,) = await here.servers.act(here.tree, place, "Make it good")
        assert (edit.content, edit.edits) == ("good\nGOOD and GOOD\nBAD\n", 2)
        with pytest.raises(
            LanguageServerFailed, match=r"No action “Other” is offered there\. Offered: Make it good"
        ):
            await here.servers.act(here.tree, place, "Other")


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> LspTextEdit:
    first, last = (LspPosition(line=line, character=character) for line, character in (start, end))
    return LspTextEdit(range=LspRange(start=first, end=last), new_text=text)


def test_edits_refer_to_the_text_as_it_was_and_insertions_keep_their_order() -> None:
    lines = TextLines("one\ntwo\n")
    edits = [edit((1, 0), (1, 3), "2"), edit((0, 0), (0, 0), "a"), edit((0, 0), (0, 0), "b")]
    assert apply_edits(lines, edits, "utf-16") == "abone\n2\n"
    with pytest.raises(LanguageServerFailed, match="overlap"):
        apply_edits(lines, [edit((0, 0), (0, 2), ""), edit((0, 1), (0, 3), "")], "utf-16")
