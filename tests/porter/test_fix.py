"""/fix runs the project's own formatter and linter, and says what they changed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.project.folder import ProjectFolder
from portico.project.formatters import find_formatters
from tests.porter.client import Client, connected, reject
from tests.porter.projects import bring_along, only

UGLY = "import os\nx = {  'a':1 }\n"
NEAT = 'x = {"a": 1}\n'


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "ruff.toml").write_text('[lint]\nselect = ["F401", "E9"]\n')
    (folder / "src").mkdir()
    (folder / "src" / "ugly.py").write_text(UGLY)
    (folder / "src" / "neat.py").write_text(NEAT)
    bring_along(folder, "ruff")
    return folder


async def test_files_are_put_right_and_the_changed_ones_named(client: Client, project: Path) -> None:
    session = await client.open(project)
    assert await client.prompt(session, "/fix") == "end_turn"
    assert client.text == (
        "According to `ruff.toml`, this project uses `.venv/bin/ruff check --fix .`, "
        "then `.venv/bin/ruff format .`.\n\n"
        "Changed 1 file:\n\n- `src/ugly.py`"
    )
    assert (project / "src" / "ugly.py").read_text() == NEAT
    assert [question.tool_call.title for question in client.questions] == [
        ".venv/bin/ruff check --fix .",
        ".venv/bin/ruff format .",
    ]
    assert [client.statuses(call)[-1] for call in client.calls] == ["completed", "completed"]


async def test_a_second_run_has_nothing_to_change(client: Client, project: Path) -> None:
    session = await client.open(project)
    await client.prompt(session, "/fix")
    client.forget()
    await client.prompt(session, "/fix")
    assert "Nothing changed in 3 files." in client.text


async def test_only_the_named_place_is_put_right(client: Client, project: Path) -> None:
    (project / "other.py").write_text(UGLY)
    session = await client.open(project)
    await client.prompt(session, "/fix src/ugly.py")
    assert (project / "src" / "ugly.py").read_text() == NEAT
    assert (project / "other.py").read_text() == UGLY
    assert client.calls[0].title == ".venv/bin/ruff check --fix src/ugly.py"


async def test_a_refusal_changes_nothing(client: Client, project: Path) -> None:
    client.answer = reject
    session = await client.open(project)
    assert await client.prompt(session, "/fix") == "end_turn"
    assert (project / "src" / "ugly.py").read_text() == UGLY
    assert client.text.endswith("`.venv/bin/ruff check --fix .` was not run.")
    assert len(client.questions) == 1


async def test_what_the_linter_still_finds_is_said(client: Client, project: Path) -> None:
    (project / "src" / "broken.py").write_text("def (:\n")
    session = await client.open(project)
    await client.prompt(session, "/fix")
    assert "`.venv/bin/ruff format .` ended with exit code 2" in client.text
    assert "`.venv/bin/ruff check --fix .` ended with exit code 1" in client.text
    assert "- `src/ugly.py`" in client.text


async def test_fixing_can_be_stopped(state: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "go.mod").write_text("")
    async with connected(state, environ=only(tmp_path, gofmt="exec /bin/sleep 1000")) as client:
        session = await client.open(folder)
        async with client.turn(session, "/fix") as turn:
            await client.until(lambda: bool(client.terminals))
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert (await client.terminals["terminal-1"].end())[1] == "SIGKILL"


async def test_a_project_without_tools_is_told_so(client: Client, folder: Path) -> None:
    (folder / "a.py").write_text(UGLY)
    session = await client.open(folder)
    assert await client.prompt(session, "/fix") == "end_turn"
    assert "No formatter or linter is configured here" in client.text
    assert client.calls == []


async def test_tools_that_are_not_installed_are_named(state: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.ruff]\n[tool.black]\n")
    async with connected(state, environ=only(tmp_path)) as client:
        session = await client.open(folder)
        await client.prompt(session, "/fix")
        assert "- ruff (pyproject.toml) is not installed" in client.text
        assert "- black (pyproject.toml) is not installed" in client.text


@pytest.mark.parametrize("argument", ["missing", "/etc", "../.."])
async def test_a_place_that_is_missing_or_outside_is_refused(
    client: Client, project: Path, argument: str
) -> None:
    session = await client.open(project)
    await client.prompt(session, f"/fix {argument}")
    assert "No such file or folder" in client.text or "is outside the folders" in client.text
    assert client.calls == []


@pytest.mark.parametrize(
    ("files", "place", "suffix", "found"),
    [
        ({".ruff.toml": ""}, ".", "", ["ruff check --fix .", "ruff format ."]),
        ({"pyproject.toml": "[tool.black]\n"}, "src", "", ["black src"]),
        ({".prettierrc": ""}, ".", "", ["prettier --write ."]),
        ({"package.json": '{"devDependencies": {"prettier": "3"}}'}, ".", "", ["prettier --write ."]),
        ({"eslint.config.js": ""}, "a.ts", ".ts", ["eslint --fix a.ts"]),
        ({"eslint.config.js": "", "ruff.toml": ""}, "a.ts", ".ts", ["eslint --fix a.ts"]),
        ({"eslint.config.js": ""}, "a.py", ".py", []),
        ({"go.mod": ""}, ".", "", ["gofmt -w ."]),
        ({"Cargo.toml": ""}, ".", "", ["cargo fmt"]),
        ({"package.json": '{"scripts": {"format": "x"}}'}, ".", "", ["npm run format"]),
        ({"Makefile": "fmt:\n\ttrue\n"}, ".", "", ["make fmt"]),
        ({"Makefile": "fmt:\n\ttrue\n", "go.mod": ""}, ".", "", ["gofmt -w ."]),
        ({}, ".", "", []),
    ],
)
def test_each_tool_is_recognised_by_its_configuration(
    folder: Path, tmp_path: Path, files: Mapping[str, str], place: str, suffix: str, found: list[str]
) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    names = ("ruff", "black", "prettier", "eslint", "gofmt", "cargo", "npm", "make")
    environ = only(tmp_path, **dict.fromkeys(names, "true"))
    assert [
        str(tool) for tool in find_formatters(ProjectFolder(folder, environ), place, suffix).found
    ] == found
