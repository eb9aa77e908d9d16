"""Ignored files in a working copy: copied while small, so that commands run there; secrets never are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from portico.review.working_copies.initial_copy import WorkingCopyBounds
from tests.review.test_working_copies import told, working_copies
from tests.review.trees import content, git, repository, write


def with_packages(folder: Path) -> Path:
    workspace = repository(folder, __gitignore="node_modules/\n__pycache__\n*.local\n.env\n", main="1\n")
    write(
        workspace,
        {
            "node_modules/pack/index.js": "x" * 100,
            "node_modules/pack/.env": "SECRET=1\n",
            "node_modules/pack/key.pem": "SECRET\n",
            "settings.local": "s\n",
            ".env": "SECRET=2\n",
            "deep/.env": "SECRET=3\n",
            "code/__pycache__/x.pyc": "c\n",
        },
    )
    (workspace / "node_modules" / "link").symlink_to("pack")
    return workspace


async def test_ignored_folders_come_along_without_secrets_and_are_no_changes(tmp_path: Path) -> None:
    workspace = with_packages(tmp_path / "w")
    before = content(workspace)
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert set(content(place.folder)) == {
        ".gitignore",
        "main",
        "node_modules/link",
        "node_modules/pack/index.js",
        "settings.local",
    }
    assert {each.path: each.reason for each in place.left_out} == {
        ".env": "may hold secrets",
        "deep/.env": "may hold secrets",
    }
    write(
        place.folder, {"node_modules/pack/index.js": "agent\n", "node_modules/new": "n\n", "x.local": "l\n"}
    )
    assert (await mode.changes(place)).changes == ()
    assert content(workspace) == before


async def test_what_was_ignored_is_not_proposed_when_the_agent_changes_the_rules(tmp_path: Path) -> None:
    workspace = with_packages(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    write(place.folder, {".gitignore": "main\n", "new.local": "n\n", "main": "agent\n"})
    assert told(await mode.changes(place)) == [
        ("update", ".gitignore"),
        ("update", "main"),
        ("create", "new.local"),
    ]


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (WorkingCopyBounds(carried_bytes=50), "too large to copy"),
        (WorkingCopyBounds(carried_files=1), "too many files"),
        (WorkingCopyBounds(carried_seconds=-1), "copying took over"),
    ],
)
async def test_what_is_too_much_is_left_out_whole_and_named(
    tmp_path: Path, bounds: WorkingCopyBounds, reason: str
) -> None:
    workspace = with_packages(tmp_path / "w")
    place = await working_copies(tmp_path, bounds=bounds).open(workspace, "s1")
    assert not (place.folder / "node_modules").exists()
    assert reason in {each.path: each.reason for each in place.left_out}["node_modules"]


async def test_a_folder_that_the_person_wants_shared_is_a_link(tmp_path: Path) -> None:
    workspace = with_packages(tmp_path / "w")
    mode = working_copies(tmp_path, linked=("node_modules",), bounds=WorkingCopyBounds(carried_bytes=0))
    place = await mode.open(workspace, "s1")
    assert (place.folder / "node_modules").readlink() == workspace / "node_modules"
    assert git(place.folder, "status", "--porcelain") == ""
    survey = await mode.survey(place)
    assert (survey.changes.changes, survey.kept_back) == ((), ())
    await mode.close(place)
    assert (workspace / "node_modules" / "pack" / "index.js").read_text() == "x" * 100


def said(*words: Path | str) -> bytes:
    environ = {"PATH": os.environ["PATH"]}
    return subprocess.run(words, capture_output=True, check=True, env=environ).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="environments are laid out otherwise there")
async def test_a_python_environment_runs_the_proposed_code_and_not_the_persons(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", __gitignore=".venv/\n")
    said(sys.executable, "-m", "venv", "--without-pip", str(workspace / ".venv"))
    packages = next((workspace / ".venv" / "lib").glob("python*/site-packages"))
    write(workspace, {"src/answer.py": "print('the person')\n"})
    write(
        packages, {"project.pth": f"{workspace}/src\n", "certifi/cacert.pem": "public\n", "x.pem": "SECRET\n"}
    )
    script = workspace / ".venv" / "bin" / "answer"
    script.write_text(f"#!{workspace}/.venv/bin/python\nimport answer\n")
    script.chmod(0o755)
    place = await working_copies(tmp_path).open(workspace, "s1")
    write(place.folder, {"src/answer.py": "print('the agent')\n"})
    assert said(place.folder / ".venv/bin/answer") == b"the agent\n"
    assert said(place.folder / ".venv/bin/python", "-c", "import answer") == b"the agent\n"
    assert said(script) == b"the person\n"
    there = place.folder / packages.relative_to(workspace)
    assert (there / "certifi" / "cacert.pem").exists()
    assert not (there / "x.pem").exists()
