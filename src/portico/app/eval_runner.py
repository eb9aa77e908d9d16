"""Runner of evaluation tasks: each in its own folder and session, its proposals applied and checked."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from portico.app.host import Host, open_host
from portico.app.in_process_porter import PORTER_SPEC, InProcessPorters
from portico.chains.options import ChainOptions
from portico.chains.plan import EDITOR_STATE_VARIABLE
from portico.client.client_session import until_turn_ends
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import PermissionRequested, QuestionAsked, ToolCompleted, UsageUpdated
from portico.domain.ids import SessionId
from portico.doors.turn_outcome import TurnOutcome
from portico.porter.evaluation.task import EvaluationTask, TaskDifficulty
from portico.porter.evaluation.task_folder import TaskVerdict, check, create_workspace
from portico.porter.setup import PorterSetup
from portico.processes.signals import on_signals
from portico.processes.tasks import cancel_and_wait
from portico.review.local_reviews import LocalReviews
from portico.sessions.requests.approver import DENIED_UNATTENDED
from portico.sessions.requests.questions import DECLINED_UNATTENDED
from portico.sessions.review_actions import ProposalChoice
from portico.sessions.turn import TurnPrompt

TEST_COMMANDS = ("python -m unittest", "python3 -m unittest", "pytest", "node --test", "npm test", "go test")
"""The commands that need no permission in an evaluation."""
SetupFor = Callable[[EvaluationTask], PorterSetup]


class EvalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Repetitions of each task, time limit of a turn, and number of tasks at once."""

    repetitions: int = 1
    turn_seconds: float = 600.0
    at_once: int = 4


DEFAULT_OPTIONS = EvalOptions()


class EvalResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of a task. `steps` counts model calls; `cost` is in dollars, if the model's prices are known.

    `repetition` counts the runs of the same task from 1. `tool_errors` counts tool calls that failed.
    """

    task: str
    repetition: int
    difficulty: TaskDifficulty
    passed: bool
    words: str
    turns: int
    steps: int
    tokens: int
    tool_errors: int
    cost: float | None
    seconds: float


class _Tally:
    """Counts turns, model calls, tokens and cost of a session."""

    def __init__(self) -> None:
        self.outcome = TurnOutcome()
        self.turns = self.steps = self.tokens = self.tool_errors = 0
        self.cost: float | None = None

    def count(self, usage: UsageUpdated) -> None:
        if usage.used is not None:
            self.steps += 1
        self.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
        self.cost = self.cost if usage.cost is None else usage.cost


async def evaluate(
    tasks: Sequence[EvaluationTask],
    folder: Path,
    environ: Mapping[str, str],
    setup_for: SetupFor,
    report: Callable[[EvalResult], None],
    *,
    options: EvalOptions = DEFAULT_OPTIONS,
) -> list[EvalResult]:
    """Run each task below a folder, a few at a time, and report each result as it comes in.

    SIGINT and SIGTERM cancel all of them.
    """
    gate = asyncio.Semaphore(options.at_once)

    async def one(task: EvaluationTask, repetition: int) -> EvalResult:
        home = folder / str(repetition) / task.name
        async with gate, _host(home, environ, setup_for(task)) as host:
            result = await _evaluated(task, host, home / "workspace", environ, options.turn_seconds)
        result = msgspec.structs.replace(result, repetition=repetition)
        report(result)
        return result

    this_task = asyncio.current_task()
    assert this_task is not None
    async with on_signals(this_task.cancel), asyncio.TaskGroup() as group:
        running = [
            group.create_task(one(task, repetition), name=f"task {task.name}")
            for repetition in range(1, options.repetitions + 1)
            for task in tasks
        ]
    return [task.result() for task in running]


@asynccontextmanager
async def _host(home: Path, environ: Mapping[str, str], setup: PorterSetup) -> AsyncIterator[Host]:
    """Open a host that shares nothing with the user's own host except `setup`."""
    isolated = {name: value for name, value in environ.items() if name != EDITOR_STATE_VARIABLE}
    isolated["PORTICO_HOME"] = str(home / "home")
    chain_options = ChainOptions(
        allow=(*(f"execute:{command}*" for command in TEST_COMMANDS), "tool:portico-build__*")
    )
    agents = InProcessPorters(home / "porter", isolated, lambda _workspace: setup)
    async with open_host(isolated, chain_options, agents) as host:
        yield host


async def _evaluated(
    task: EvaluationTask, host: Host, workspace: Path, environ: Mapping[str, str], turn_seconds: float
) -> EvalResult:
    await asyncio.to_thread(create_workspace, task, workspace, environ)
    tally, started = _Tally(), time.monotonic()
    try:
        verdict = await _work(task, host, workspace, tally, turn_seconds)
    except PorticoError as error:
        verdict = TaskVerdict(False, error.message)
    if verdict.passed:
        verdict = await asyncio.to_thread(check, task, workspace, environ)
        said = tally.outcome.text.strip()
        if not verdict.passed and said:
            verdict = TaskVerdict(False, f"{verdict.reason} The model said last: {said[-200:]}")
    return EvalResult(
        task=task.name,
        repetition=1,
        difficulty=task.difficulty,
        passed=verdict.passed,
        words=verdict.reason,
        turns=tally.turns,
        steps=tally.steps,
        tokens=tally.tokens,
        tool_errors=tally.tool_errors,
        cost=tally.cost,
        seconds=round(time.monotonic() - started, 3),
    )


async def _work(
    task: EvaluationTask, host: Host, workspace: Path, tally: _Tally, turn_seconds: float
) -> TaskVerdict:
    """Send the prompts, and apply what each turn proposes."""
    session_id = await host.service.start(workspace, PORTER_SPEC, mode="proposal")
    reviews = LocalReviews(host.service, host.ports, host.reviews)
    options: dict[str, str | bool] = {} if task.scenario is None else {"mode": task.scenario}
    after_seq = 0
    for text in task.prompts:
        prompt = TurnPrompt(text=text, options=options, timeout=turn_seconds)
        after_seq = await _turn(host, session_id, prompt, after_seq, tally)
        if tally.outcome.error is not None:
            return TaskVerdict(False, tally.outcome.error.message)
        for proposal in await reviews.proposals(session_id):
            choice = ProposalChoice(proposal_id=proposal.proposal_id, revision=proposal.revision)
            applied = await reviews.apply(session_id, choice)
            if applied.conflicted:
                return TaskVerdict(False, f"The proposal conflicts in {', '.join(applied.conflicted)}.")
    return TaskVerdict(True)


async def _turn(host: Host, session_id: SessionId, prompt: TurnPrompt, after_seq: int, tally: _Tally) -> int:
    """Run one turn to its end and return the seq of its last event."""
    tally.turns += 1
    running = host.service.session(session_id).start_turn(prompt)
    following = asyncio.create_task(_follow(host, session_id, after_seq, tally), name="turn events")
    try:
        await asyncio.wait((running, following), return_when=asyncio.FIRST_EXCEPTION)
        if running.done():
            await running
        return await following
    finally:
        await cancel_and_wait(running, following)


async def _follow(host: Host, session_id: SessionId, after_seq: int, tally: _Tally) -> int:
    """Count events up to the end of a turn, and refuse requests: no user is present."""
    service = host.service
    async for event in until_turn_ends(service.watch(session_id, after_seq=after_seq)):
        after_seq = event.seq
        tally.outcome.take(event.payload)
        match event.payload:
            case UsageUpdated() as usage:
                tally.count(usage)
            case ToolCompleted(success=False):
                tally.tool_errors += 1
            case PermissionRequested(request_id=request_id):
                with suppress(InvalidInput):  # a rule has decided it already
                    service.session(session_id).decide(request_id, DENIED_UNATTENDED)
            case QuestionAsked(request_id=request_id):
                with suppress(InvalidInput):
                    service.session(session_id).answer(request_id, DECLINED_UNATTENDED)
            case _:
                pass
    return after_seq
