"""All evaluation tasks, in the order in which they are listed."""

from difflib import get_close_matches

from portico.domain.errors import InvalidInput
from portico.porter.evaluation.task import EvaluationTask
from portico.porter.evaluation.tasks import (
    add_flag,
    correct_own_mistake,
    crlf_file,
    delete_dead_code,
    docs_and_code,
    edit_json,
    fix_import,
    fix_off_by_one,
    follow_conventions,
    follow_up,
    implement_function,
    keep_a_list,
    large_file,
    long_output,
    move_module,
    mutable_default,
    propose_only,
    rename_across_files,
    replace_prints,
    write_test,
)

TASKS = (
    fix_off_by_one.TASK,
    mutable_default.TASK,
    fix_import.TASK,
    implement_function.TASK,
    add_flag.TASK,
    write_test.TASK,
    rename_across_files.TASK,
    replace_prints.TASK,
    move_module.TASK,
    delete_dead_code.TASK,
    docs_and_code.TASK,
    edit_json.TASK,
    crlf_file.TASK,
    large_file.TASK,
    long_output.TASK,
    correct_own_mistake.TASK,
    keep_a_list.TASK,
    follow_conventions.TASK,
    follow_up.TASK,
    propose_only.TASK,
)


def find_task(name: str) -> EvaluationTask:
    """InvalidInput, with a near one, when there is none of this name."""
    by_name = {task.name: task for task in TASKS}
    if name in by_name:
        return by_name[name]
    near = get_close_matches(name, by_name, n=1)
    raise InvalidInput(
        f"There is no task called {name!r}.",
        suggestion=f"Did you mean {near[0]}?" if near else f"There are: {', '.join(by_name)}.",
    )
