"""`portico eval`: runs the evaluation tasks with a model and prints the result of each."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from portico.cli.arguments import CommandParser
from portico.cli.eval_runner import EvalResult, SetupFor, evaluate
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.errors import ExitCode, PermissionDenied
from portico.doors.terminal.sanitizer import clean_line
from portico.porter.evaluation.catalog import TASKS, find_task
from portico.porter.evaluation.scripted import ScriptedModel
from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask
from portico.porter.setup import PorterSetup

_DESCRIPTION = f"""Let a model do small repository tasks, and see how many it gets right.

  portico eval                                  with scripted models, to prove Porter itself
  portico eval --model anthropic:claude-sonnet-5-5
  portico eval --model offline:smollm2 --task fix-off-by-one

Each task runs in a temporary folder through a session that proposes; what is proposed is applied, and a check
decides. The model may run “{RUN_TESTS}” and no other command; that, and the check, run code that it wrote.
With --model it costs what the model costs; budgets hold.
"""
_SCRIPTED = (
    "These were scripted models: they prove Porter, and say nothing about a model. Try one: --model NAME"
)


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("eval", _DESCRIPTION)
    parser.add_argument("--model", metavar="NAME", help="provider:model, as portico models list has them")
    parser.add_argument(
        "--task", metavar="NAME", action="append", default=[], help="only this one; may be repeated"
    )
    parser.add_argument("--json", dest="api", action="store_true", help="the same as --api")
    parser.add_argument("--list", action="store_true", help="say what the tasks are, and run none")
    flags = parser.parse(arguments)
    tasks = [find_task(name) for name in flags.task] or list(TASKS)
    if flags.list:
        return _list(tasks, api=flags.api)
    environ = dict(os.environ)
    setup_for = _scripted if flags.model is None else _live(flags.model, environ)
    return _evaluate(tasks, setup_for, environ, model=flags.model, api=flags.api)


def _evaluate(
    tasks: Sequence[EvaluationTask],
    setup_for: SetupFor,
    environ: Mapping[str, str],
    *,
    model: str | None,
    api: bool,
) -> int:
    width = max(len(task.name) for task in tasks)

    def tell(result: EvalResult) -> None:
        if not api:
            print(_row(result, width), flush=True)

    if not api:
        print(
            f"{'task':<{width}}  {'result':<6}  {'turns':>5}  {'steps':>5}  {'tokens':>9}  {'cost':>9}  {'time':>7}"
        )
    with TemporaryDirectory(prefix="portico-eval-") as folder:
        try:
            results = asyncio.run(evaluate(tasks, Path(folder).resolve(), environ, setup_for, tell))
        except asyncio.CancelledError as error:
            raise PermissionDenied("The evaluation was stopped.") from error
    failed = [result for result in results if not result.passed]
    if api:
        told = {"status": "failed" if failed else "ok", "model": model or "scripted", "results": results}
        print(msgspec.json.encode(told).decode())
    else:
        _conclude(results, failed, model)
    return int(ExitCode.PROVIDER if failed else ExitCode.OK)


def _row(result: EvalResult, width: int) -> str:
    cost = "" if result.cost is None else f"${result.cost:.4f}"
    return (
        f"{result.task:<{width}}  {'passed' if result.passed else 'FAILED'}  {result.turns:>5}  {result.steps:>5}  "
        f"{result.tokens:>9,}  {cost:>9}  {result.seconds:>5.1f} s"
    )


def _conclude(results: Sequence[EvalResult], failed: Sequence[EvalResult], model: str | None) -> None:
    tokens, dollars = sum(one.tokens for one in results), sum(one.cost or 0.0 for one in results)
    who = "the scripted models" if model is None else model
    print(
        f"\n{len(results) - len(failed)} of {len(results)} passed with {who}: {tokens:,} tokens, ${dollars:.4f}."
    )
    if model is None:
        print(_SCRIPTED)
    sys.stdout.flush()
    for one in failed:
        print(f"{one.task}: {clean_line(one.words)}", file=sys.stderr)


def _list(tasks: Sequence[EvaluationTask], *, api: bool) -> int:
    if api:
        told = [{"name": task.name, "purpose": task.purpose} for task in tasks]
        print(msgspec.json.encode({"status": "ok", "tasks": told}).decode())
        return 0
    width = max(len(task.name) for task in tasks)
    for task in tasks:
        print(f"{task.name:<{width}}  {task.purpose}")
    return 0


def _scripted(task: EvaluationTask) -> PorterSetup:
    model = ScriptedModel(task)
    return PorterSetup(choose=lambda: model.name, open=lambda _name: model)


def _live(name: str, environ: Mapping[str, str]) -> SetupFor:
    """The person's own model, keys and budgets, and no scenarios but the built-in ones.

    Raises at once what keeps the model from being opened.
    """
    from portico.app.porter_setup import read_setup
    from portico.porter.models.selection import MODEL_VARIABLE, open_model

    open_model(name, load_settings(config_folder(environ), Path.cwd()).models, environ)
    chosen = {**environ, MODEL_VARIABLE: name}

    def setup_for(_task: EvaluationTask) -> PorterSetup:
        return msgspec.structs.replace(read_setup(Path.cwd(), chosen), scenarios=None)

    return setup_for
