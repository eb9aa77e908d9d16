"""Porter beside OpenCode and aider: the same offline model, the same tasks, the same time limit.

    python -m bench.coders --task fix-import --task 'js-*' --seconds 600 --repeat 3

The others are installed into a cache folder, from npm and PyPI. They ask the endpoint of the offline model through a
server that counts tokens, and aider is told the command of the tests. One program runs at a time.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.children import PORTICO
from bench.token_counter import TokenCounter, count_tokens
from portico.app.eval_summary import wilson_interval
from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, find_tasks, load_tasks
from portico.porter.evaluation.task_folder import check, create_workspace
from portico.porter.models.offline.endpoint import shared_endpoint
from portico.porter.models.offline.model_files import find_file

AIDER = "aider-chat==0.86.2"
OPENCODE = "opencode-ai@1.18.33"
_TEST_COMMANDS = {"python": RUN_TESTS, "node": "node --test", "go": "go test ./..."}
_PROVIDER = "loopback"


class CoderRun(msgspec.Struct, frozen=True, kw_only=True):
    """One task by one coder."""

    coder: str
    task: str
    passed: bool
    tokens: int
    seconds: float


class Bench(msgspec.Struct, frozen=True):
    """Common base of all coders."""

    model: str
    seconds: float
    tokens: TokenCounter


Coder = Callable[[EvaluationTask, Bench], CoderRun]


def porter(task: EvaluationTask, bench: Bench) -> CoderRun:
    words = ("eval", "--json", "--model", f"offline:{bench.model}", "--task", task.name)
    limit = ("--tasks", str(task.folder.parent), "--seconds", str(bench.seconds))
    done = subprocess.run((PORTICO, *words, *limit), stdout=subprocess.PIPE, check=False)
    (result,) = json.loads(done.stdout)["results"]
    return CoderRun(
        coder="porter",
        task=task.name,
        passed=result["passed"],
        tokens=result["tokens"],
        seconds=result["seconds"],
    )


def aider(task: EvaluationTask, bench: Bench) -> CoderRun:
    program = _cache() / "aider" / "bin" / "aider"
    if not program.exists():
        _install(sys.executable, "-m", "venv", str(program.parents[1]))
        _install(str(program.with_name("python")), "-m", "pip", "install", "--quiet", AIDER)
    words = ["--model", f"openai/{bench.model}", "--yes-always", "--no-auto-commits", "--no-gitignore"]
    words += ["--no-check-update", "--no-analytics", "--no-show-model-warnings", "--no-show-release-notes"]
    if task.tests is not None:
        words += ["--auto-test", "--test-cmd", _TEST_COMMANDS[task.tests]]
    environ = {"OPENAI_API_BASE": bench.tokens.own_address, "OPENAI_API_KEY": "none"}
    return _run("aider", task, bench, lambda prompt: (str(program), *words, "--message", prompt), environ)


def opencode(task: EvaluationTask, bench: Bench) -> CoderRun:
    folder = _cache() / "opencode"
    program = folder / "node_modules" / ".bin" / "opencode"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _install("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), OPENCODE)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": bench.tokens.own_address, "apiKey": "none"},
        "models": {bench.model: {"tool_call": True, "limit": {"context": 32_768, "output": 2048}}},
    }
    config = {"provider": {_PROVIDER: provider}, "permission": "allow", "autoupdate": False}
    environ = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    command = (str(program), "run", "--model", f"{_PROVIDER}/{bench.model}")
    return _run("opencode", task, bench, lambda prompt: (*command, prompt), environ)


CODERS: Mapping[str, Coder] = {"porter": porter, "opencode": opencode, "aider": aider}


def _run(
    name: str,
    task: EvaluationTask,
    bench: Bench,
    command: Callable[[str], Sequence[str]],
    own: Mapping[str, str],
) -> CoderRun:
    """Give a program the prompts of a task, one after the other, and check what it did."""
    with tempfile.TemporaryDirectory(prefix=f"portico-{name}-", ignore_cleanup_errors=True) as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        home.mkdir()
        environ = {**os.environ, **own, "HOME": str(home)}
        environ |= {f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        create_workspace(task, workspace, os.environ)
        bench.tokens.consume()
        started = time.monotonic()
        for prompt in task.prompts:
            _run_for(command(prompt), workspace, environ, bench.seconds)
        return CoderRun(
            coder=name,
            task=task.name,
            seconds=round(time.monotonic() - started, 1),
            tokens=bench.tokens.consume(),
            passed=check(task, workspace, os.environ).passed,
        )


def _run_for(command: Sequence[str], cwd: Path, environ: Mapping[str, str], seconds: float) -> None:
    """Run a program, and end it with all its children when its time is over."""
    with (cwd.parent / "output.txt").open("ab") as output:
        running = subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _install(*command: str) -> None:
    print("Installing:", *command[-1:], file=sys.stderr, flush=True)
    subprocess.run(command, check=True, stdout=sys.stderr)


def _cache() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "portico-bench"


async def _compare(arguments: argparse.Namespace, tasks: Sequence[EvaluationTask]) -> list[CoderRun]:
    """Let the coders take turns, so that a busy machine slows all of them alike."""
    endpoint = shared_endpoint(find_file(arguments.model, os.environ), dict(os.environ))
    endpoint.hold()
    try:
        record = await endpoint.find()
        with count_tokens(record.address, record.key) as tokens:
            bench = Bench(arguments.model, arguments.seconds, tokens)
            return await asyncio.to_thread(_take_turns, arguments, tasks, bench)
    finally:
        await endpoint.let_go()


def _take_turns(
    arguments: argparse.Namespace, tasks: Sequence[EvaluationTask], bench: Bench
) -> list[CoderRun]:
    runs = []
    for _ in range(arguments.repeat):
        for task in tasks:
            for name in arguments.coder or CODERS:
                run = CODERS[name](task, bench)
                verdict = "passed" if run.passed else "failed"
                print(
                    f"{run.coder:<9} {run.task:<26} {verdict}  {run.tokens:>8,} tokens  {run.seconds:>6.0f} s",
                    flush=True,
                )
                runs.append(run)
    return runs


def _summary(name: str, runs: Sequence[CoderRun]) -> str:
    passed = sum(run.passed for run in runs)
    low, high = wilson_interval(passed, len(runs))
    tokens, seconds = (
        sum(run.tokens for run in runs) / len(runs),
        sum(run.seconds for run in runs) / len(runs),
    )
    return (
        f"{name}: {passed} of {len(runs)} passed (95% confidence: {low:.0%} to {high:.0%}); "
        f"per run {tokens:,.0f} tokens, {seconds:.0f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.coders", description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder", help="offline model that was pulled")
    parser.add_argument("--task", action="append", default=[], help="task or pattern (default: all)")
    parser.add_argument("--coder", action="append", choices=CODERS, help="coder to run (default: all)")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of a prompt")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    for program in ("npm", "git"):
        if shutil.which(program) is None:
            parser.error(f"{program} is not installed")
    found = load_tasks(None)
    tasks = [task for name in arguments.task for task in find_tasks(found, name)] or found
    runs = asyncio.run(_compare(arguments, tasks))
    print()
    for name in dict.fromkeys(run.coder for run in runs):
        print(_summary(name, [run for run in runs if run.coder == name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
