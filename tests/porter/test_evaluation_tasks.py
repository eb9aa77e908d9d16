"""Evaluation tasks are folders, found only where the user or the checkout has put them, and each can be solved."""

import os
import pwd
import shutil
from collections import Counter
from pathlib import Path

import pytest

import portico
from portico.domain.errors import InvalidInput
from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, load_tasks
from portico.porter.evaluation.task_folder import check, create_workspace
from portico.porter.evaluation.task_tests import TESTS, TestLanguage, missing_program

TASKS = load_tasks(None)
TESTED = [task for task in TASKS if task.tests]
SCRIPTED = [task for task in TASKS if task.script]


@pytest.fixture
def environ() -> dict[str, str]:
    """With the user's own build cache for Go, which would compile its standard library again and again."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    return {**os.environ, "GOCACHE": f"{home}/.cache/go-build"}


def write_task(folder: Path, text: str) -> Path:
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "task.toml").write_text(text)
    return folder


def test_a_task_needs_a_purpose_and_prompts_and_may_do_without_a_script(tmp_path: Path) -> None:
    folder = write_task(tmp_path, 'purpose = "p"\nprompts = ["Run @RUN_TESTS@."]\n')
    (task,) = load_tasks(folder)
    assert (task.name, task.purpose, task.prompts) == ("mine", "p", (f"Run {RUN_TESTS}.",))
    assert (task.script, task.scenario) == ((), None)


@pytest.mark.parametrize("text", ["purpose = ", "purpose = 1\nprompts = []", 'purpose = "p"\nprompt = "x"'])
def test_a_broken_task_is_named_with_its_file(tmp_path: Path, text: str) -> None:
    folder = write_task(tmp_path, text)
    with pytest.raises(InvalidInput, match=r"mine/task\.toml"):
        load_tasks(folder)


def test_a_folder_without_tasks_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No evaluation tasks in"):
        load_tasks(tmp_path)


def test_an_installed_package_has_no_tasks_and_takes_none_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_task(tmp_path / "evals" / "tasks", 'purpose = "p"\nprompts = ["x"]\n')
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "lib" / "python3" / "site-packages" / "portico" / "__init__.py"
    monkeypatch.setattr(portico, "__file__", str(installed))
    with pytest.raises(InvalidInput, match="not part of the installed package") as caught:
        load_tasks(None)
    assert "--tasks" in (caught.value.suggestion or "")


def test_there_are_twenty_tasks_with_a_script_and_thirty_with_tests() -> None:
    assert len(SCRIPTED) == 20
    assert Counter(task.tests for task in TESTED) == {"python": 22, "node": 5, "go": 3}
    assert len(TASKS) == 50


def test_no_task_with_a_script_is_done_before_it_begins(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin"}
    passed = []
    for task in SCRIPTED:
        create_workspace(task, tmp_path / task.name, environ)
        if check(task, tmp_path / task.name, environ).passed:
            passed.append(task.name)
    assert passed == []


@pytest.mark.timeout(700)  # the first time, Go compiles its standard library
@pytest.mark.parametrize("task", TESTED, ids=[task.name for task in TESTED])
def test_the_tests_of_a_task_fail_before_its_solution_and_pass_after_it(
    task: EvaluationTask, tmp_path: Path, environ: dict[str, str]
) -> None:
    assert missing_program(task.tests, environ) is None
    workspace = tmp_path / "workspace"
    create_workspace(task, workspace, environ)
    assert not (workspace / "solution").exists()
    before = check(task, workspace, environ)
    assert (before.passed, before.reason != "") == (False, True)
    shutil.copytree(task.folder / "solution", workspace, dirs_exist_ok=True)
    after = check(task, workspace, environ)
    assert after.passed, after.reason


@pytest.mark.parametrize("language", list(TESTS))
def test_a_solution_that_changes_the_tests_does_not_count(
    language: TestLanguage, tmp_path: Path, environ: dict[str, str]
) -> None:
    task = next(task for task in TESTED if task.tests == language)
    workspace = tmp_path / "workspace"
    create_workspace(task, workspace, environ)
    shutil.copytree(task.folder / "solution", workspace, dirs_exist_ok=True)
    test = next(workspace.glob(TESTS[language].files[0]))
    name = test.relative_to(workspace).as_posix()
    test.write_bytes(test.read_bytes() + b"\n")
    assert check(task, workspace, environ).reason == f"The test {name} was changed."
    test.unlink()
    assert check(task, workspace, environ).reason == f"The test {name} was changed."
