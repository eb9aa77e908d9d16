"""Evaluation tasks are folders, found only where the user or the checkout has put them."""

from pathlib import Path

import pytest

import portico
from portico.domain.errors import InvalidInput
from portico.porter.evaluation.task import RUN_TESTS, load_tasks


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
