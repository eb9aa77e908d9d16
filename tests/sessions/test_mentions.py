"""`@path` in a prompt: what is taken for a file, and what is left alone."""

import os
import sys
from pathlib import Path

import pytest

from portico.domain import codecs
from portico.sessions.content.mentions import links_in, mentioned

FILES = ("a.py", "src/b.py", "my notes.md", "odd.", "c(1).txt", "b")


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("look at @a.py", ["a.py"]),
        ("@a.py and @src/b.py and @a.py", ["a.py", "src/b.py"]),
        ("(see @a.py), or “@src/b.py”?", ["a.py"]),
        ("see @a.py, @src/b.py; done.", ["a.py", "src/b.py"]),
        ('in @"my notes.md", please', ["my notes.md"]),
        ("'@a.py'", ["a.py"]),
        ("the file @odd. is odd", ["odd."]),
        ("@c(1).txt!", ["c(1).txt"]),
        ("write to a@b or me@a.py", []),
        (r"not \@a.py and not \\@a.py", []),
        ("`@a.py` and @@ -1 +1 @@", []),
        ("@missing.py @ @. @/ @,.;", []),
        ('@"', []),
        ("@\u0000a.py", []),
        ("nothing", []),
    ],
)
def test_mentions_begin_a_word_and_name_a_file(text: str, paths: list[str]) -> None:
    assert mentioned(text, FILES.__contains__) == paths


def test_a_text_full_of_mentions_costs_a_bounded_number_of_looks() -> None:
    looks = 0

    def count(path: str) -> bool:
        nonlocal looks
        looks += 1
        return False

    assert mentioned("@x " * 100_000, count) == []
    assert looks <= 1000


def names(text: str, workspace: Path) -> list[str]:
    return [codecs.decode_json(block)["name"] for block in links_in(text, workspace)]


def test_a_mentioned_folder_becomes_a_link_and_the_workspace_itself_does_not(tmp_path: Path) -> None:
    (tmp_path / "src" / "net").mkdir(parents=True)
    (block,) = links_in("see @src/net/, and @. and @.. and @/", tmp_path)
    assert codecs.decode_json(block) == {
        "type": "resource_link",
        "name": "src/net/",
        "uri": (tmp_path / "src" / "net").as_uri(),
        "mimeType": "inode/directory",
    }
    assert names("see @src.", tmp_path) == ["src"]


def test_a_mentioned_file_becomes_a_link_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("x = 1\n")
    (block,) = links_in('see @"a b.py"', tmp_path)
    assert codecs.decode_json(block) == {
        "type": "resource_link",
        "name": "a b.py",
        "uri": (tmp_path / "a b.py").as_uri(),
        "mimeType": "text/x-python",
        "size": 6,
    }


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_what_is_outside_or_secret_or_neither_file_nor_folder_is_not_linked(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    (workspace / "folder").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("x")
    for name in (".env", "server.key", "plain.txt"):
        (workspace / name).write_text("x")
    (workspace / "way-out").symlink_to(tmp_path / "outside.txt")
    (workspace / "innocent").symlink_to(workspace / ".env")
    (workspace / "loop").symlink_to("loop")
    os.mkfifo(workspace / "pipe")
    text = f"@plain.txt @loop @.env @server.key @folder @pipe @way-out @innocent @../outside.txt @{tmp_path}/outside.txt"
    assert names(text + " @" + "x" * 5000, workspace) == ["plain.txt", "folder"]
