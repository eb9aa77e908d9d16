"""/test finds the way a project runs its tests, runs them, and says how they went."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.project.folder import ProjectFolder
from portico.project.runners import find_runners
from tests.porter.client import Client, connected, reject
from tests.porter.projects import bring_along, only

CHECKS = """
def test_good():
    assert True

def test_bad():
    assert 1 == 2, "one is not two"

def test_better():
    assert True
"""


@pytest.fixture
def pytest_project(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(CHECKS)
    bring_along(folder, "pytest")
    return folder


async def test_pytest_is_found_run_and_its_failures_named(client: Client, pytest_project: Path) -> None:
    session = await client.open(pytest_project)
    assert await client.prompt(session, "/test") == "end_turn"
    assert client.text == (
        "**Tests failed**: 2 tests passed, 1 failed (pytest, exit code 1). "
        "What failed: `tests/test_it.py::test_bad`."
    )
    [thought] = client.updates(schema.AgentThoughtChunk)
    assert thought.content.text == "Chosen because pyproject.toml configures pytest."
    [call] = client.calls
    assert (call.kind, call.title) == ("execute", ".venv/bin/pytest")
    assert client.statuses(call) == ["pending", "in_progress", "failed"]
    assert client.content(call) == [schema.Terminal(terminal_id="terminal-1")]
    assert b"one is not two" in client.terminals["terminal-1"].output


async def test_arguments_go_to_the_runner(client: Client, pytest_project: Path) -> None:
    session = await client.open(pytest_project)
    await client.prompt(session, "/test -k 'good or better' tests/test_it.py")
    assert client.text == "**Tests passed**: 2 tests passed, 0 failed (pytest, exit code 0)."
    assert client.calls[0].title == ".venv/bin/pytest -k 'good or better' tests/test_it.py"


async def test_no_matching_test_is_neither_passed_nor_failed(client: Client, pytest_project: Path) -> None:
    session = await client.open(pytest_project)
    await client.prompt(session, "/test -k nothing")
    assert client.text == "**No tests ran**: `.venv/bin/pytest -k nothing` found none (exit code 5)."


async def test_refused_tests_do_not_run(client: Client, pytest_project: Path) -> None:
    client.answer = reject
    session = await client.open(pytest_project)
    assert await client.prompt(session, "/test") == "end_turn"
    assert client.text == "The tests were not run."
    assert client.terminals == {}


async def test_tests_that_hang_can_be_stopped(client: Client, pytest_project: Path) -> None:
    (pytest_project / "tests" / "test_it.py").write_text(
        "import time\n\ndef test_hangs():\n    time.sleep(1000)\n"
    )
    session = await client.open(pytest_project)
    async with client.turn(session, "/test") as turn:
        await client.until(lambda: bool(client.terminals))
        client.end.cancel(session)
        assert await turn == "cancelled"
    assert (await client.terminals["terminal-1"].end())[1] == "SIGKILL"
    assert client.statuses(client.calls[0])[-1] == "failed"


async def test_unittest_is_used_when_the_tests_are_written_for_it(
    state: Path, folder: Path, tmp_path: Path
) -> None:
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").write_text("")
    (folder / "tests" / "test_it.py").write_text(
        "import unittest\n\n"
        "class TestIt(unittest.TestCase):\n"
        "    def test_good(self): ...\n"
        "    @unittest.skip('later')\n"
        "    def test_later(self): ...\n"
        "    def test_bad(self): self.fail()\n"
    )
    environ = only(tmp_path, python3=f'exec {sys.executable} "$@"')
    async with connected(state, environ=environ) as client:
        session = await client.open(folder)
        await client.prompt(session, "/test")
        assert client.text.startswith(
            "**Tests failed**: 1 test passed, 1 failed, 1 skipped (unittest, exit code 1). What failed: `test_bad"
        )
        assert client.calls[0].title == "python3 -m unittest discover -s tests -t ."


async def test_the_test_script_of_a_package_is_run(client: Client, folder: Path) -> None:
    (folder / "package.json").write_text('{"scripts": {"test": "node --test"}}')
    (folder / "it.test.js").write_text(
        "const test = require('node:test');\n"
        "test('good', () => {});\ntest('bad', () => { throw new Error('no') });\n"
    )
    session = await client.open(folder)
    await client.prompt(session, "/test")
    assert client.text.startswith("**Tests failed**: 1 test passed, 1 failed (npm, exit code 1).")


async def test_a_makefile_is_enough_and_others_are_mentioned(client: Client, folder: Path) -> None:
    (folder / "Makefile").write_text("test:\n\t@echo checked\n")
    session = await client.open(folder)
    await client.prompt(session, "/test")
    assert client.text == "**Tests passed**: `make test` ended with exit code 0."
    (folder / "package.json").write_text('{"scripts": {"test": "exit 1"}}')
    client.forget()
    await client.prompt(session, "/test")
    assert client.text.endswith("There are other tests here: `/test make`.")
    client.forget()
    await client.prompt(session, "/test make")
    assert client.calls[0].title == "make test"


async def test_no_tests_are_an_honest_answer(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, "/test") == "end_turn"
    assert "No tests were found that can be run." in client.text
    assert "`/run <command>` runs any command" in client.text
    assert client.calls == []


async def test_a_runner_that_is_not_installed_is_named(state: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "Cargo.toml").write_text("")
    async with connected(state, environ=only(tmp_path)) as client:
        session = await client.open(folder)
        await client.prompt(session, "/test")
        assert "- pytest.ini configures pytest, but no pytest was found" in client.text
        assert "- Cargo.toml exists, but cargo was not found" in client.text


async def test_arguments_that_cannot_be_split_are_explained(client: Client, pytest_project: Path) -> None:
    session = await client.open(pytest_project)
    await client.prompt(session, "/test 'unclosed")
    assert "Invalid arguments: No closing quotation" in client.text
    assert client.calls == []


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"setup.cfg": "[tool:pytest]\n"}, ["pytest"]),
        ({"tox.ini": "[pytest]\n"}, ["pytest"]),
        ({"conftest.py": ""}, ["pytest"]),
        ({"test_a.py": "def test_a(): ...\n"}, ["pytest"]),
        ({"pyproject.toml": "[tool.pytest]\n"}, ["pytest"]),
        ({"pyproject.toml": "not toml [[["}, []),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, ["npm test"]),
        ({"package.json": '{"scripts": {"test": "jest"}}', "yarn.lock": ""}, ["yarn test"]),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, ["pnpm test"]),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, []),
        ({"package.json": "[]"}, []),
        ({"package.json": "{"}, []),
        ({"package.json": '{"scripts": {"test": 5}}'}, []),
        ({"Cargo.toml": ""}, ["cargo test"]),
        ({"go.mod": ""}, ["go test ./..."]),
        ({"Makefile": "check:\n\ttrue\n"}, ["make check"]),
        ({"Makefile": "test := 1\n"}, []),
        ({"go.mod": "", "Makefile": "test: build\n\ttrue\n"}, ["go test ./...", "make test"]),
    ],
)
def test_each_kind_of_project_is_recognised(
    folder: Path, tmp_path: Path, files: Mapping[str, str], found: list[str]
) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    names = ("pytest", "npm", "yarn", "pnpm", "cargo", "go", "make")
    environ = only(tmp_path, **dict.fromkeys(names, "true"))
    assert [str(runner) for runner in find_runners(ProjectFolder(folder, environ)).found] == found
