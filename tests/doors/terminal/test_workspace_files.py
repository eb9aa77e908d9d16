"""Files a person may want to name after `@`."""

import subprocess
from pathlib import Path

from portico.doors.terminal.input.workspace_files import WorkspaceFiles, list_files


def test_in_a_repository_ignored_files_are_left_out(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "kept é.py").write_text("")
    (tmp_path / "noise.log").write_text("")
    assert sorted(list_files(tmp_path)) == [".gitignore", "kept é.py"]


def test_a_repository_cannot_make_the_listing_run_a_program(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "config", "core.fsmonitor", str(trap)], check=True)
    assert "trap" in list_files(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_without_git_a_walk_leaves_out_what_nobody_names(tmp_path: Path) -> None:
    for name in ("src/a.py", "node_modules/x/y.js", ".hidden/z", "b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert list_files(tmp_path) == ["b.txt", "src/a.py"]


def test_the_listing_is_remembered_for_a_while(tmp_path: Path) -> None:
    now = 0.0
    files = WorkspaceFiles(tmp_path, clock=lambda: now)
    assert files.matching("new") == []
    (tmp_path / "new.py").write_text("")
    assert files.matching("new") == []
    now = 60.0
    assert files.matching("new") == ["new.py"]


def test_a_folder_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert list_files(tmp_path / "gone") == []
