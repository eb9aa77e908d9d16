"""The workspace's prompts, then the user's; what is wrong with one is no trouble for another."""

import os
import sys
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput
from portico.prompts.catalog import PromptCatalog
from portico.prompts.directories import PromptDirectory


class Shelves:
    """A workspace and a user's folder, to put files into."""

    def __init__(self, top: Path) -> None:
        self.workspace = top / "workspace"
        self.own = self.workspace / ".portico" / "prompts"
        self.user = top / "user" / "prompts"
        self.workspace.mkdir()

    @property
    def catalog(self) -> PromptCatalog:
        return PromptCatalog(
            [
                PromptDirectory(path=self.own, origin="workspace", boundary=self.workspace),
                PromptDirectory(path=self.user, origin="user", boundary=self.user),
            ]
        )

    @property
    def problems(self) -> dict[str, str]:
        return {entry.name: entry.problem for entry in self.catalog.entries() if entry.problem}

    def write(self, path: Path, content: str | bytes = "text") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def shelves(tmp_path: Path) -> Shelves:
    return Shelves(tmp_path)


def test_without_folders_there_are_no_prompts(shelves: Shelves) -> None:
    assert shelves.catalog.entries() == []
    with pytest.raises(InvalidInput, match='Unknown prompt "x"'):
        shelves.catalog.find("x")


def test_folders_are_part_of_a_name(shelves: Shelves) -> None:
    shelves.write(shelves.own / "team" / "deep" / "one.md", "deep text")
    shelves.write(shelves.own / "notes.txt")
    shelves.write(shelves.own / ".git" / "two.md")
    shelves.write(shelves.user / "b.md")
    assert [entry.name for entry in shelves.catalog.entries()] == ["b", "team/deep/one"]
    assert shelves.catalog.find("team/deep/one")[1].text == "deep text"


def test_the_workspace_wins_over_the_user_and_both_are_told(shelves: Shelves) -> None:
    own = shelves.write(shelves.own / "a.md", "the workspace's")
    user = shelves.write(shelves.user / "a.md", "the user's")
    entry, prompt = shelves.catalog.find("a")
    assert (entry.origin, entry.path, prompt.text) == ("workspace", str(own), "the workspace's")
    first, second = shelves.catalog.entries()
    assert (first.origin, first.hides, first.hidden_by) == ("workspace", str(user), "")
    assert (second.origin, second.hides, second.hidden_by) == ("user", "", str(own))


def test_a_broken_file_spoils_no_other_and_lets_no_namesake_through(shelves: Shelves) -> None:
    shelves.write(shelves.own / "a.md", "{{ undeclared }}")
    shelves.write(shelves.user / "a.md", "the user's")
    shelves.write(shelves.own / "b.md", b"\xff")
    shelves.write(shelves.own / "c.md", "fine")
    assert list(shelves.problems) == ["a", "b"]
    assert shelves.catalog.find("c")[1].text == "fine"
    with pytest.raises(InvalidInput, match="undeclared") as caught:
        shelves.catalog.find("a")
    assert str(shelves.own / "a.md") in str(caught.value.suggestion)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", ".", "a.md", "A/../a"])
def test_only_what_is_listed_can_be_had(shelves: Shelves, name: str) -> None:
    shelves.write(shelves.own / "a.md")
    shelves.write(shelves.own.parent / "secret.md")
    with pytest.raises(InvalidInput, match="Unknown prompt"):
        shelves.catalog.find(name)


def test_the_nearest_names_are_told(shelves: Shelves) -> None:
    shelves.write(shelves.own / "review.md")
    shelves.write(shelves.own / "team" / "review.md")
    with pytest.raises(InvalidInput) as caught:
        shelves.catalog.find("reviw")
    assert str(caught.value.suggestion).startswith("Did you mean review")


def test_a_name_that_cannot_be_typed_is_told(shelves: Shelves) -> None:
    shelves.write(shelves.own / "my prompt.md")
    assert "letters" in shelves.problems["my prompt"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no names that are not text")
def test_a_name_that_is_not_text_is_told_as_far_as_it_can_be(shelves: Shelves) -> None:
    shelves.write(shelves.own / os.fsdecode(b"caf\xe9.md"))
    assert list(shelves.problems) == ["caf\ufffd"]
    assert shelves.catalog.entries()[0].path.endswith("caf\ufffd.md")


def test_links_may_not_lead_out(shelves: Shelves, tmp_path: Path) -> None:
    secret = shelves.write(tmp_path / "secret.md", "secret")
    shelves.write(shelves.own / "real.md", "inside")
    (shelves.own / "out.md").symlink_to(secret)
    (shelves.own / "nowhere.md").symlink_to("missing.md")
    (shelves.own / "loop.md").symlink_to("loop.md")
    (shelves.own / "folder").symlink_to(tmp_path)
    (shelves.own / "around").symlink_to(shelves.own)
    (shelves.own / "alias.md").symlink_to("real.md")
    assert list(shelves.problems) == ["around/", "folder/", "loop", "nowhere", "out"]
    assert "outside" in shelves.problems["out"]
    assert shelves.catalog.find("alias")[1].text == "inside"


def test_the_folder_of_a_workspace_may_not_be_elsewhere_but_the_user_may_keep_theirs_anywhere(
    shelves: Shelves, tmp_path: Path
) -> None:
    shelves.write(tmp_path / "elsewhere" / "a.md")
    shelves.own.parent.mkdir()
    shelves.own.symlink_to(tmp_path / "elsewhere")
    shelves.user.parent.mkdir()
    shelves.user.symlink_to(tmp_path / "elsewhere")
    assert [(entry.name, entry.origin) for entry in shelves.catalog.entries()] == [
        ("/", "workspace"),
        ("a", "user"),
    ]
    assert "outside" in shelves.problems["/"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_nobody_waits_for_what_is_no_file(shelves: Shelves) -> None:
    shelves.own.mkdir(parents=True)
    os.mkfifo(shelves.own / "pipe.md")
    (shelves.own / "folder.md").mkdir()
    shelves.write(shelves.user, b"a file where the folder should be")
    assert shelves.problems.keys() == {"pipe", "/"}
