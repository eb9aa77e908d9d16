"""`portico eval`: runs the evaluation tasks with a model and prints the result of each."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from portico.app.eval_runner import (
    DEFAULT_OPTIONS,
    TEST_COMMANDS,
    EvalOptions,
    EvalResult,
    SetupFor,
    evaluate,
)
from portico.app.eval_summary import summarize
from portico.cli.arguments import CommandParser
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.errors import ExitCode, InvalidInput, PermissionDenied
from portico.doors.terminal.sanitizer import clean_line
from portico.porter.evaluation.scripted_model import ScriptedModel
from portico.porter.evaluation.task import EvaluationTask, find_tasks, load_tasks
from portico.porter.evaluation.task_tests import missing_program
from portico.porter.models.providers import OFFLINE
from portico.porter.setup import PorterSetup

_DESCRIPTION = f"""Run small repository tasks with a model and report how many it solves.

  portico eval                                  with scripted models, to test Porter itself
  portico eval --model anthropic:claude-sonnet-5-5
  portico eval --model offline:smollm2 --task fix-off-by-one

Each task runs in a temporary folder, in a session in proposal mode. Proposals are applied, and a check decides.
The model may run {", ".join(TEST_COMMANDS)}, and no other command. They and the check run code the model wrote.
With --model, calls cost what the provider charges; budgets apply.
"""
_MOST_REPETITIONS = 100
_SCRIPTED = "Scripted models test Porter and say nothing about a model. To evaluate one, use --model NAME."


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("eval", _DESCRIPTION)
    parser.add_argument("--model", metavar="NAME", help="model to evaluate, as in portico models list")
    parser.add_argument(
        "--task",
        metavar="NAME",
        action="append",
        default=[],
        help="task to run, or a pattern such as 'go-*' (repeatable; default: all)",
    )
    parser.add_argument(
        "--tasks", metavar="DIR", type=Path, help="folder of tasks (default: evals/tasks of the checkout)"
    )
    parser.add_argument(
        "--repeat", metavar="N", type=int, default=1, help="number of runs of each task (default: 1)"
    )
    parser.add_argument(
        "--seconds", metavar="N", type=float, default=600.0, help="time limit of a prompt (default: 600)"
    )
    parser.add_argument("--json", dest="api", action="store_true", help="same as --api")
    parser.add_argument("--list", action="store_true", help="list the tasks without running them")
    flags = parser.parse(arguments)
    if not 1 <= flags.repeat <= _MOST_REPETITIONS:
        raise InvalidInput(f"--repeat must be between 1 and {_MOST_REPETITIONS}.")
    if not flags.seconds > 0:
        raise InvalidInput("--seconds must be positive.")
    found = load_tasks(flags.tasks)
    tasks = [task for name in flags.task for task in find_tasks(found, name)] or found
    if flags.list:
        return _list(tasks, api=flags.api)
    environ = dict(os.environ)
    tasks = _runnable(tasks, flags.model, environ)
    setup_for = _scripted if flags.model is None else _live(flags.model, environ)
    return _evaluate(tasks, setup_for, environ, flags)


def _runnable(
    tasks: Sequence[EvaluationTask], model: str | None, environ: Mapping[str, str]
) -> list[EvaluationTask]:
    """Return the tasks that can be run here, and say why others are left out."""
    by_reason: dict[str, list[EvaluationTask]] = {}
    for task in tasks:
        program = missing_program(task.tests, environ)
        reason = f"{program} is not installed" if program else ""
        if model is None and not task.script:
            reason = "they have no script: name a model with --model"
        by_reason.setdefault(reason, []).append(task)
    runnable = by_reason.pop("", [])
    left_out = [
        f"{len(some)} of {len(tasks)} tasks are left out, because {reason}."
        for reason, some in by_reason.items()
    ]
    if not runnable:
        raise InvalidInput(" ".join(left_out))
    for line in left_out:
        print(line, file=sys.stderr)
    return runnable


def _evaluate(
    tasks: Sequence[EvaluationTask], setup_for: SetupFor, environ: Mapping[str, str], flags: Namespace
) -> int:
    model, api = flags.model, flags.api
    width = max(len(task.name) for task in tasks)

    def report(result: EvalResult) -> None:
        if not api:
            print(_row(result, width), flush=True)

    if not api:
        print(
            f"{'task':<{width}}  {'result':<6}  {'turns':>5}  {'steps':>5}  {'tokens':>9}  {'errors':>6}  {'cost':>9}  {'time':>7}"
        )
    with TemporaryDirectory(prefix="portico-eval-") as folder:
        try:
            options = EvalOptions(
                repetitions=flags.repeat,
                turn_seconds=flags.seconds,
                # Tasks of an offline model would only wait for each other.
                at_once=1 if model and model.startswith(f"{OFFLINE}:") else DEFAULT_OPTIONS.at_once,
            )
            running = evaluate(tasks, Path(folder).resolve(), environ, setup_for, report, options=options)
            results = asyncio.run(running)
        except asyncio.CancelledError as error:
            raise PermissionDenied("The evaluation was stopped.") from error
    failed = [result for result in results if not result.passed]
    if api:
        summary = {"status": "failed" if failed else "ok", "model": model or "scripted", "results": results}
        summary["groups"] = summarize(results)
        print(msgspec.json.encode(summary).decode())
    else:
        _print_summary(results, failed, model)
    return int(ExitCode.PROVIDER if failed else ExitCode.OK)


def _row(result: EvalResult, width: int) -> str:
    cost = "" if result.cost is None else f"${result.cost:.4f}"
    return (
        f"{result.task:<{width}}  {'passed' if result.passed else 'FAILED'}  {result.turns:>5}  {result.steps:>5}  "
        f"{result.tokens:>9,}  {result.tool_errors:>6}  {cost:>9}  {result.seconds:>5.1f} s"
    )


def _print_summary(results: Sequence[EvalResult], failed: Sequence[EvalResult], model: str | None) -> None:
    tokens, dollars = sum(one.tokens for one in results), sum(one.cost or 0.0 for one in results)
    who = "the scripted models" if model is None else model
    print(
        f"\n{len(results) - len(failed)} of {len(results)} passed with {who}: {tokens:,} tokens, ${dollars:.4f}."
    )
    if model is None:
        print(_SCRIPTED)
    else:
        for group in summarize(results):
            print(group)
    sys.stdout.flush()
    for one in failed:
        print(f"{one.task}: {clean_line(one.words)}", file=sys.stderr)


def _list(tasks: Sequence[EvaluationTask], *, api: bool) -> int:
    if api:
        listed = [{"name": task.name, "purpose": task.purpose} for task in tasks]
        print(msgspec.json.encode({"status": "ok", "tasks": listed}).decode())
        return 0
    width = max(len(task.name) for task in tasks)
    for task in tasks:
        print(f"{task.name:<{width}}  {task.purpose}")
    return 0


def _scripted(task: EvaluationTask) -> PorterSetup:
    model = ScriptedModel(task)
    return PorterSetup(choose=lambda: model.name, open=lambda _name: model)


def _live(name: str, environ: Mapping[str, str]) -> SetupFor:
    """Use the user's model, keys and budgets, with the built-in scenarios only.

    A model that cannot be opened raises here, before any task runs.
    """
    from portico.app.porter_setup import read_setup
    from portico.config.model_settings import MODEL_VARIABLE
    from portico.porter.models.selection import open_model

    open_model(name, load_settings(config_folder(environ), Path.cwd()).models, environ)
    chosen = {**environ, MODEL_VARIABLE: name}

    def setup_for(_task: EvaluationTask) -> PorterSetup:
        return msgspec.structs.replace(read_setup(Path.cwd(), chosen), scenarios=None)

    return setup_for
