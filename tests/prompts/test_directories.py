"""The directories of the settings: their order, their limits, and how often their files are read."""

import errno
import json
import os
from pathlib import Path

import pytest

from portico.app.prompt_catalog import open_prompts
from portico.prompts import directories
from portico.prompts.catalog import BUILT_IN_FOLDER, CatalogEntry, PromptCache
from portico.prompts.prompt import CatalogPrompt, read_prompt


class Places:
    """A workspace and the user's configuration, each with settings and prompts."""

    def __init__(self, top: Path) -> None:
        self.top, self.workspace, self.config = top, top / "workspace", top / "home" / "config"
        self.workspace.mkdir()
        self.cache = PromptCache()

    def set(self, *, user: object = None, workspace: object = None, trusted: bool = False) -> None:
        mine = {} if user is None else {"promptDirectories": user}
        if trusted:
            mine["trustedWorkspaces"] = [str(self.workspace)]
        self.write(self.config / "settings.json", json.dumps(mine))
        if workspace is not None:
            theirs = json.dumps({"promptDirectories": workspace})
            self.write(self.workspace / ".portico" / "settings.json", theirs)

    def write(self, path: Path, text: str = "text") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @property
    def all_entries(self) -> list[CatalogEntry]:
        environ = {"PORTICO_HOME": str(self.top / "home")}
        return open_prompts(self.workspace, environ, self.cache).catalog.entries()

    @property
    def entries(self) -> list[CatalogEntry]:
        return [one for one in self.all_entries if one.origin != "built-in" or one.hidden_by]

    @property
    def names(self) -> list[tuple[str, str]]:
        return [(one.name, one.origin) for one in self.entries if not one.problem]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_the_workspace_comes_first_then_the_user_then_what_is_built_in(places: Places) -> None:
    places.set(user=["mine", "~/more"], workspace=["docs/prompts", "tools/prompts"])
    for path in (
        places.workspace / "docs/prompts/explain.md",
        places.workspace / "tools/prompts/explain.md",
        places.config / "mine/explain.md",
        places.config / "mine/own.md",
        places.config / "prompts/unused.md",
    ):
        places.write(path)
    found = [(one.origin, bool(one.hidden_by)) for one in places.entries if one.name == "explain"]
    assert found == [("workspace", False), ("workspace", True), ("user", True), ("built-in", True)]
    assert ("own", "user") in places.names
    assert ("unused", "user") not in places.names


def test_the_name_in_a_file_is_the_name_of_the_prompt(places: Places) -> None:
    places.write(places.workspace / ".portico/prompts/a.md", "---\nname: other/b\n---\ntext")
    assert places.names == [("other/b", "workspace")]


def test_directories_inside_each_other_give_each_prompt_once(places: Places) -> None:
    places.set(workspace=["prompts", "prompts/team", "prompts/../prompts"])
    places.write(places.workspace / "prompts/team/a.md")
    (places.workspace / "prompts/team/again").symlink_to(places.workspace / "prompts")
    assert places.names == [("team/a", "workspace")]
    assert [one.problem for one in places.entries if one.problem] == [
        "it is a link to a folder, which is not followed"
    ]


def test_a_cycle_of_directories_gives_each_prompt_once(places: Places) -> None:
    top = places.workspace / ".portico" / "prompts"
    places.write(top / "team" / "fix.md")
    (top / "team" / "again").symlink_to(top)
    (top / "loop").symlink_to(top / "loop")
    assert places.names == [("team/fix", "workspace")]


def test_a_directory_that_is_named_and_missing_is_told(places: Places) -> None:
    places.set(user=["nowhere"])
    (entry,) = places.entries
    assert (entry.path, entry.problem) == (
        str(places.config / "nowhere"),
        "the directory does not exist",
    )


def test_only_a_trusted_workspace_names_directories_elsewhere(places: Places) -> None:
    places.write(places.top / "shared/a.md")
    places.set(workspace=["../shared", str(places.top / "shared")])
    assert places.names == []
    assert {one.problem for one in places.entries} == {"the directory is outside the workspace"}
    places.set(workspace=["../shared"], trusted=True)
    assert places.names == [("a", "workspace")]


def test_a_directory_with_too_much_in_it_is_cut_off(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "MAX_ENTRIES", 3)
    places.set(workspace=["."])
    places.write(places.workspace / "a.md")
    for name in "bcde":
        places.write(places.workspace / "sub" / f"{name}.md")
    assert places.names == [("a", "workspace")]
    assert any("more than 3 entries" in one.problem for one in places.entries)


def test_a_file_is_read_again_only_when_it_has_changed(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = places.write(places.workspace / ".portico/prompts/a.md", "one")
    reads: list[bytes] = []

    def read(data: bytes) -> CatalogPrompt:
        reads.append(data)
        return read_prompt(data)

    monkeypatch.setattr("portico.prompts.catalog.read_prompt", read)
    places.cache = PromptCache()
    texts = [one.prompt.text for one in places.entries if one.prompt]
    assert (texts, reads.count(b"one")) == (["one"], 1)
    assert places.names == [("a", "workspace")]
    assert reads.count(b"one") == 1
    path.write_text("two")
    assert [one.prompt.text for one in places.entries if one.prompt] == ["two"]
    os.utime(path, ns=(1, 1))
    assert [one.prompt.text for one in places.entries if one.prompt] == ["two"]
    assert reads.count(b"two") == 2


@pytest.mark.parametrize(
    "failure", [PermissionError(errno.EACCES, "no"), FileNotFoundError(errno.ENOENT, "gone")]
)
def test_a_file_that_could_not_be_read_is_tried_again_though_it_has_not_changed(
    places: Places, monkeypatch: pytest.MonkeyPatch, failure: OSError
) -> None:
    places.write(places.workspace / ".portico/prompts/a.md", "one")

    def fail(*_: object, **__: object) -> bytes:
        raise failure

    with monkeypatch.context() as failing:
        failing.setattr("portico.files.real_path.read", fail)
        assert "a" in {one.name for one in places.entries if one.problem}
    assert [one.prompt.text for one in places.entries if one.prompt] == ["one"]


def test_a_list_is_made_again_only_when_a_file_came_changed_or_went(places: Places) -> None:
    folder = places.workspace / ".portico" / "prompts"
    first, second = places.write(folder / "first.md", "one"), places.write(folder / "second.md")
    listed = places.all_entries
    assert places.all_entries is listed

    places.write(first, "another text")
    changed = places.all_entries
    assert [one.prompt.text for one in changed if one.prompt and one.name == "first"] == ["another text"]
    assert places.all_entries is changed

    second.unlink()
    assert "second" not in {one.name for one in places.all_entries}
    (folder / "linked.md").symlink_to(first)
    assert "linked" in {one.name for one in places.all_entries}
    assert (
        places.all_entries is not places.all_entries
    )  # A link is read each time: its file may be another one.


def test_a_full_cache_starts_over(places: Places) -> None:
    places.cache = PromptCache(limit=10)
    for name in "abc":
        places.write(places.workspace / f".portico/prompts/{name}.md", name * 20)
    assert [one.prompt.text[0] for one in places.entries if one.prompt] == ["a", "b", "c"]


def test_the_built_in_prompts_have_no_fault_and_take_an_input() -> None:
    files = sorted(BUILT_IN_FOLDER.glob("*.md"))
    assert [file.stem for file in files] == [
        "commit-message",
        "docstrings",
        "edit-inline",
        "explain",
        "review-diff",
        "summarize",
        "translate",
        "write-tests",
    ]
    for file in files:
        prompt = read_prompt(file.read_bytes())
        assert prompt.warnings == ()
        assert prompt.matter.mode == ("proposal" if file.stem == "edit-inline" else "read-only")
        assert prompt.matter.description
        assert prompt.matter.version
        assert "input" in {one.name for one in prompt.variables}
