"""`portico eval`: the tasks are done through real sessions, by scripted models here and over the wire."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import pytest

from portico.porter.evaluation.scripted_model import next_step
from portico.porter.evaluation.task import EvaluationTask, find_tasks, load_tasks
from tests.support.model_endpoint import BAD_KEY, Answer, Call, ModelEndpoint, Received, Reply, Say, Tokens
from tests.support.program import Portico
from tests.support.waiting import wait_until

ALL_TASKS = load_tasks(None)
TASKS = [task for task in ALL_TASKS if task.script]
NAMES = [task.name for task in TASKS]


@contextmanager
def endpoint(answer: Callable[[Received], Reply]) -> Iterator[ModelEndpoint]:
    """A model on the wire that lives in a thread, beside the program that asks it."""
    ready, over = Event(), asyncio.Event()
    found: list[tuple[ModelEndpoint, asyncio.AbstractEventLoop]] = []

    async def serve() -> None:
        async with ModelEndpoint() as one:
            one.answer = answer
            found.append((one, asyncio.get_running_loop()))
            ready.set()
            await over.wait()

    thread = Thread(target=asyncio.run, args=(serve(),), name="model endpoint")
    thread.start()
    assert ready.wait(20)
    one, loop = found[0]
    try:
        yield one
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)


class Solver:
    """Answers as the script of the task says whose prompt stands in a request."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()

    def __call__(self, received: Received) -> Reply:
        body = msgspec.json.encode(received.body).decode()
        task = next(task for task in TASKS if _quoted(task.prompts[0]) in body)
        number = self.answered[task.name]
        self.answered[task.name] += 1
        step = next_step(task, number, "\n".join(_texts(received.body)))
        calls = [
            Call(one.tool, one.json_arguments, f"call_{number}_{place}")
            for place, one in enumerate(step.calls)
        ]
        said = [Say(step.says)] if step.says else []
        return Answer(*said, *calls, tokens=Tokens(input=1000, output=100))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)
        case _:
            return


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]


def on_the_wire(portico: Portico, one: ModelEndpoint, kind: str) -> str:
    """Set up the endpoint as the person's own provider; the name of its model."""
    address = one.address if kind == "anthropic" else f"{one.address}/v1"
    price = {"input": 1, "output": 10}
    portico.settings(
        {"models": {"mine": {"kind": kind, "address": address, "models": {"m": {"price": price}}}}}
    )
    return "mine:m"


def failures(api: dict[str, Any]) -> dict[str, str]:
    return {one["task"]: one["words"] for one in api["results"] if not one["passed"]}


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_every_answer_but_the_first_of_a_script_rests_on_what_was_shown(task: EvaluationTask) -> None:
    unfounded = [number for number, step in enumerate(task.script[1:], 1) if not step.sees]
    # A search that finds nothing any more has nothing to be recognised by.
    assert unfounded == ([3] if task.name == "rename-across-files" else [])


def test_scripted_models_solve_every_task_and_the_table_says_that_they_are_scripted(portico: Portico) -> None:
    ran = portico.run("eval", seconds=110)
    assert ran.code == 0, ran.text + ran.err
    head, *rows = ran.text.split("\n\n")[0].splitlines()
    assert head.split() == ["task", "result", "turns", "steps", "tokens", "errors", "cost", "time"]
    assert sorted(row.split()[0] for row in rows) == sorted(NAMES)
    assert {row.split()[1] for row in rows} == {"passed"}
    assert "20 of 20 passed with the scripted models" in ran.text
    assert ran.complaint == [
        "30 of 50 tasks are left out, because they have no script: name a model with --model."
    ]
    assert "say nothing about a model" in ran.text
    assert list(portico.workspace.iterdir()) == []
    assert portico.run("sessions", "list", "--api").api["sessions"] == []


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("anthropic", ["add-flag", "edit-json", "fix-import"]),
        ("openai", ["rename-across-files", "keep-a-list", "follow-up"]),
        ("openai-chat", ["delete-dead-code", "long-output", "propose-only"]),
    ],
    ids=["anthropic", "openai", "openai-chat"],
)
def test_a_model_on_the_wire_solves_the_tasks(portico: Portico, kind: str, names: list[str]) -> None:
    solver = Solver()
    chosen = [word for name in names for word in ("--task", name)]
    with endpoint(solver) as one:
        model = on_the_wire(portico, one, kind)
        ran = portico.run("eval", "--json", "--model", model, *chosen, seconds=110)
    assert failures(ran.api) == {}
    assert (ran.code, ran.api["status"], ran.api["model"]) == (0, "ok", "mine:m")
    results = {result["task"]: result for result in ran.api["results"]}
    assert list(results) == names
    for task in (task for name in names for task in find_tasks(TASKS, name)):
        result = results[task.name]
        assert (result["turns"], result["steps"]) == (len(task.prompts), len(task.script))
        assert solver.answered[task.name] == len(task.script)
        assert result["tokens"] == 1100 * len(task.script)
        assert result["cost"] == pytest.approx(0.002 * len(task.script))


def test_a_model_that_only_talks_fails_and_the_exit_code_says_so(portico: Portico) -> None:
    with endpoint(lambda _: Answer(Say("All done!"))) as one:
        model = on_the_wire(portico, one, "openai-chat")
        ran = portico.run("eval", "--model", model, "--task", "add-flag", "--task", "edit-json")
    assert ran.code == 3
    assert "0 of 2 passed with mine:m" in ran.text
    assert "scripted" not in ran.text
    assert any(line.startswith("add-flag: ") and "All done!" in line for line in ran.complaint)


def test_a_command_that_nobody_allowed_is_not_run(portico: Portico, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    replies = iter([Answer(Call("run", msgspec.json.encode({"command": f"touch {mark}"}).decode()))])
    with endpoint(lambda _: next(replies, Answer(Say("It was declined.")))) as one:
        model = on_the_wire(portico, one, "openai-chat")
        ran = portico.run("eval", "--api", "--model", model, "--task", "add-flag")
        assert "declined" in msgspec.json.encode(one.requests[-1].body).decode()
    assert not mark.exists()
    assert ran.api["results"][0]["steps"] == 2


def test_a_provider_that_refuses_is_told_for_each_task(portico: Portico) -> None:
    with endpoint(lambda _: BAD_KEY) as one:
        model = on_the_wire(portico, one, "anthropic")
        ran = portico.run("eval", "--api", "--model", model, "--task", "add-flag")
    assert ran.code == 3
    assert "key" in failures(ran.api)["add-flag"]


def test_tasks_are_repeated_and_the_results_are_summed_up_with_their_uncertainty(portico: Portico) -> None:
    replies = (Answer(Call("read", '{"path": "none"}')), Answer(Say("All done!")))
    with endpoint(lambda seen: replies["does not exist" in str(seen.body)]) as one:
        model = on_the_wire(portico, one, "openai-chat")
        ran = portico.run("eval", "--api", "--model", model, "--repeat", "2", "--task", "edit-json")
    assert ran.code == 3
    runs = [(result["task"], result["repetition"], result["toolErrors"]) for result in ran.api["results"]]
    assert runs == [("edit-json", 1, 1), ("edit-json", 2, 1)]
    groups = [(group["group"], group["passed"], group["runs"], group["high"]) for group in ran.api["groups"]]
    assert groups == [("easy", 0, 2, 0.6576), ("all", 0, 2, 0.6576)]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--repeat", "0"), "--repeat must be between 1 and 100"),
        (("--seconds", "0"), "--seconds must be positive"),
        (("--model", "nonsense"), "is not a model name"),
        (("--model", "anthropic:claude-sonnet-5-5"), "No key for anthropic"),
        (("--task", "add-flog"), "Did you mean add-flag?"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_runs(
    portico: Portico, words: tuple[str, ...], told: str
) -> None:
    ran = portico.run("eval", *words)
    assert ran.code in (3, 5)
    assert told in ran.err
    assert ran.text == ""


def test_the_tasks_can_be_listed(portico: Portico) -> None:
    ran = portico.run("eval", "--list", "--api")
    assert [task["name"] for task in ran.api["tasks"]] == [task.name for task in ALL_TASKS]
    ran = portico.run("eval", "--list", "--api", "--task", "go-*", "--task", "fix-import")
    names = [task["name"] for task in ran.api["tasks"]]
    assert names == ["go-not-found", "go-ring-buffer", "go-timeout-unit", "fix-import"]


def test_tasks_whose_tests_cannot_be_run_here_are_left_out_and_named(
    portico: Portico, tmp_path: Path
) -> None:
    with endpoint(lambda _: Answer(Say("All done!"))) as one:
        words = ("eval", "--api", "--model", on_the_wire(portico, one, "openai-chat"))
        bare = {"PATH": str(tmp_path)}
        ran = portico.run(*words, "--task", "go-*", environ=bare)
        assert (ran.code, ran.text.strip() != "") == (5, True)
        assert "3 of 3 tasks are left out, because go is not installed." in ran.text
        ran = portico.run(*words, "--task", "go-*", "--task", "edit-json", environ=bare)
    assert [result["task"] for result in ran.api["results"]] == ["edit-json"]
    assert ran.complaint[0] == "3 of 4 tasks are left out, because go is not installed."


def test_tasks_come_from_the_folder_that_is_named(portico: Portico, tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "say-hello"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('purpose = "write a file"\nprompts = ["Write hello.txt."]\n')
    (folder / "check.py").write_text('assert open("hello.txt").read() == "hello\\n"\n')
    tasks = ("--tasks", str(folder.parent))
    assert [task["name"] for task in portico.run("eval", "--list", "--api", *tasks).api["tasks"]] == [
        "say-hello"
    ]
    ran = portico.run("eval", *tasks)
    assert (ran.code, "have no script" in ran.err) == (5, True)
    (folder / "script.toml").write_text(
        '[[step]]\n[[step.calls]]\ntool = "write"\n[step.calls.arguments]\npath = "hello.txt"\n'
        'content = "hello\\n"\n\n[[step]]\nsays = "Done."\n'
    )
    ran = portico.run("eval", "--api", *tasks)
    assert (ran.code, failures(ran.api)) == (0, {})
    assert portico.run("eval", "--list", "--tasks", str(tmp_path / "none")).code == 5


def test_an_evaluation_that_is_stopped_leaves_nothing_behind(portico: Portico, tmp_path: Path) -> None:
    asked = Event()

    def hang(_: Received) -> Reply:
        asked.set()
        return Answer(Say("Let me think."), hangs_after=2)

    with endpoint(hang) as one:
        words = ("eval", "--model", on_the_wire(portico, one, "openai-chat"), "--task", "add-flag")
        running = portico.start(*words, environ={"TMPDIR": str(tmp_path)})
        assert asked.wait(60)
        wait_until(lambda: any(tmp_path.glob("portico-eval-*")), "a folder for the tasks")
        running.signal(signal.SIGTERM)
        ran = running.end()
    assert ran.code == 1
    assert "stopped" in ran.err
    assert list(tmp_path.glob("portico-eval-*")) == []
