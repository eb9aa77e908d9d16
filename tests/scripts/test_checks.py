"""The checks of `make check` fail on what they are for."""

import contextlib
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import check_names

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the checks read."""
    ignored = shutil.ignore_patterns("__pycache__", "page", "node_modules")
    for name in ("src", "docs", "proto", "scripts", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("tests", "vscode", "web", "bench", "evals"):
        if (ROOT / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def check(script: str, tree: Path) -> tuple[int, str]:
    if script == "check_names":  # In this process, which parses a module that did not change only once.
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = check_names.main(["--root", str(tree)])
        return code, output.getvalue()
    ran = subprocess.run(
        [sys.executable, "-m", f"scripts.{script}", "--root", str(tree), *_flags(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def _flags(script: str) -> list[str]:
    return ["--check"] if script == "draw_architecture" else []


def append(path: str, text: str) -> Callable[[Path], None]:
    def plant(tree: Path) -> None:
        (tree / path).write_text((tree / path).read_text() + text) if (tree / path).exists() else (
            tree / path
        ).write_text(text)

    return plant


def replace(path: str, old: str, new: str) -> Callable[[Path], None]:
    def plant(tree: Path) -> None:
        text = (tree / path).read_text()
        assert old in text
        (tree / path).write_text(text.replace(old, new))

    return plant


@pytest.mark.parametrize("script", ["check_names", "check_docs", "draw_architecture"])
def test_the_tree_as_it_is_passes(tree: Path, script: str) -> None:
    assert check(script, tree)[0] == 0, check(script, tree)[1]


@pytest.mark.parametrize(
    ("script", "plant", "complaint"),
    [
        ("check_names", append("src/portico/sessions/gathering.py", '"""A module."""\n'), "by a noun"),
        (
            "check_names",
            append("src/portico/sessions/desk.py", '"""A module."""\n'),
            "'desk' is not a word",
        ),
        (
            "check_names",
            append("src/portico/store/rows.py", "\nclass TurnQueue:\n    pass\n"),
            "class TurnQueue",
        ),
        ("check_names", append("src/portico/store/rows.py", "\n" * 400), "more than 400"),
        (
            "check_names",
            append("src/portico/store/rows.py", "\n\ndef read(deed: str) -> None: ...\n"),
            "'deed' in a name",
        ),
        (
            "check_names",
            append("src/portico/store/rows.py", "\n\nclass WriterDesk: ...\n"),
            "'Desk' in a name",
        ),
        (
            "check_names",
            append("src/portico/store/rows.py", "\n# Whoever reads this.\n"),
            "'Whoever': say who it is",
        ),
        (
            "check_names",
            append("src/portico/store/rows.py", '\ndef row() -> None:\n    """What a row has."""\n'),
            "begins with 'What'",
        ),
        ("check_names", append("docs/glossary.md", "\nIt is for nobody.\n"), "'nobody': say who"),
        (
            "check_names",
            replace("CONTRIBUTING.md", "| `src/portico/store`", "| `src/portico/attic`"),
            "attic",
        ),
        ("check_names", replace("src/portico/store/__init__.py", '"""', "#"), "what the package owns"),
        ("check_docs", append("docs/glossary.md", "\n[gone](gone.md)\n"), "no such file"),
        ("check_docs", append("docs/glossary.md", "\n`src/portico/attic.py`\n"), "no such file"),
        ("check_docs", append("docs/glossary.md", "\n`portico dance`\n"), "portico dance"),
        ("draw_architecture", replace("docs/architecture.md", "| `store` |", "| `attic` |"), "attic"),
        ("draw_architecture", replace("docs/pictures/architecture.svg", ">store<", ">attic<"), "attic"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_planted_fault_is_found(
    tree: Path, script: str, plant: Callable[[Path], None], complaint: str
) -> None:
    plant(tree)
    code, output = check(script, tree)
    assert code == 1
    assert complaint in output
