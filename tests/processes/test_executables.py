"""The reason why a command cannot be run, found before it is started."""

import os
import sys
from pathlib import Path

import pytest

from portico.processes.executables import CannotRun, find_program
from tests.rpc.process_tree import script

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="execute bits and interpreter lines are POSIX"
)


def test_a_program_is_found_on_the_path_that_the_child_will_have(tmp_path: Path) -> None:
    path = script(tmp_path, "tool", "#!/bin/sh\n")
    assert find_program("tool", cwd=Path("/"), environ={"PATH": f"/nowhere:{tmp_path}"}) == str(path)


def test_a_relative_path_starts_at_the_folder_of_the_child(tmp_path: Path) -> None:
    path = script(tmp_path, "tool", "#!/bin/sh\n")
    assert find_program("./tool", cwd=tmp_path, environ={}) == str(path)


@pytest.mark.parametrize("path", ["", ".", "relative", ":"])
def test_the_folder_being_worked_on_chooses_no_program(tmp_path: Path, path: str) -> None:
    script(tmp_path, "tool", "#!/bin/sh\n")
    with pytest.raises(CannotRun, match="“tool” was not found on PATH"):
        find_program("tool", cwd=tmp_path, environ={"PATH": path})


def test_a_file_without_the_execute_bit_gets_the_remedy(tmp_path: Path) -> None:
    path = script(tmp_path, "tool", "#!/bin/sh\n", mode=0o644)
    with pytest.raises(CannotRun, match="is not executable") as caught:
        find_program("tool", cwd=tmp_path, environ={"PATH": str(tmp_path)})
    assert caught.value.suggestion == f"Make it executable: chmod +x {path}"


def test_a_later_program_of_the_same_name_is_preferred_to_one_that_cannot_run(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    script(tmp_path / "first", "tool", "", mode=0o644)
    good = script(tmp_path / "second", "tool", "#!/bin/sh\n")
    environ = {"PATH": f"{tmp_path}/first{os.pathsep}{tmp_path}/second"}
    assert find_program("tool", cwd=tmp_path, environ=environ) == str(good)


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="is a folder, not a program"):
        find_program(str(tmp_path), cwd=tmp_path, environ={})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="/gone does not exist"):
        find_program("./gone", cwd=tmp_path, environ={})


@pytest.mark.parametrize(
    ("first_line", "reason"),
    [
        ("#!/nowhere/python3\n", "asks for the interpreter /nowhere/python3"),
        ("#!/usr/bin/env no-such-language\n", "asks for “no-such-language”, which is not on PATH"),
        ("#!/usr/bin/env -S no-such-language -x\n", "asks for “no-such-language”"),
        ("#!\n", "which cannot be run"),
        ("#!/bin/sh\r\n", "Windows line endings"),
    ],
)
def test_a_bad_interpreter_line_is_explained(tmp_path: Path, first_line: str, reason: str) -> None:
    path = script(tmp_path, "tool", first_line)
    with pytest.raises(CannotRun, match=reason) as caught:
        find_program(str(path), cwd=tmp_path, environ=os.environ)
    assert caught.value.suggestion


@pytest.mark.parametrize("program", ["", "a\0b"])
def test_a_command_that_names_nothing_is_refused(tmp_path: Path, program: str) -> None:
    with pytest.raises(CannotRun):
        find_program(program, cwd=tmp_path, environ=os.environ)
