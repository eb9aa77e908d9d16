"""Files that prompts are run on: read inside a folder, and refused with a reason otherwise."""

from pathlib import Path

import pytest

from portico.domain.errors import FileMissing, InvalidInput
from portico.prompts.input_file import read_file_of, read_text_file


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("mine")
    return folder


def test_a_file_of_the_folder_is_read_by_its_name_or_whole_path(work: Path) -> None:
    (work / "notes.txt").write_text("three boats")
    assert read_file_of(work, "notes.txt") == read_file_of(work, str(work / "notes.txt")) == "three boats"


def test_the_provenance_of_an_earlier_run_is_not_part_of_the_input(work: Path) -> None:
    (work / "notes.md").write_text("---\nportico:\n  prompt: sum\n---\n\nthree boats\n")
    assert read_file_of(work, "notes.md").strip() == "three boats"


@pytest.mark.parametrize("name", ["../secret.txt", "link.txt", "linked/secret.txt"])
def test_a_file_outside_is_refused_also_through_a_link(work: Path, name: str) -> None:
    (work / "link.txt").symlink_to(work.parent / "secret.txt")
    (work / "linked").symlink_to(work.parent)
    with pytest.raises(InvalidInput, match=r"is not in .*work"):
        read_file_of(work, name)


def test_what_is_no_text_of_a_fair_size_is_refused_with_a_reason(work: Path) -> None:
    (work / "picture.png").write_bytes(b"\x89PNG\0")
    (work / "latin.txt").write_bytes(b"caf\xe9")
    with (work / "huge.txt").open("wb") as file:
        file.truncate(20 * 1024 * 1024)
    (work / "folder").mkdir()
    for name, words in (
        ("picture.png", "is binary, not text"),
        ("latin.txt", r"is not UTF-8 \(byte 4\)"),
        ("huge.txt", "is larger than 4 MB"),
        ("folder", "cannot be read"),
        ("bad\0name", "cannot be read"),
    ):
        with pytest.raises(InvalidInput, match=words):
            read_file_of(work, name)
    with pytest.raises(FileMissing, match=r"gone\.txt does not exist"):
        read_file_of(work, "gone.txt")
    with pytest.raises(InvalidInput, match="is larger than"):
        read_text_file(work / "huge.txt", "huge.txt")
