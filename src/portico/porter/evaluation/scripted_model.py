"""A model that solves one evaluation task by following its script."""

from collections.abc import AsyncGenerator

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelEvent,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ModelUsage,
    ResponseFinished,
    TextChunk,
    ToolCallChunk,
    ToolCallReady,
    ToolMessage,
    UserMessage,
)

PROVIDER = "scripted"
_CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """Stateless: the number of responses in the request says which step comes next."""

    def __init__(self, task: EvaluationTask) -> None:
        self._task = task

    @property
    def name(self) -> str:
        return f"{PROVIDER}:{self._task.name}"

    async def facts(self) -> ModelFacts:
        return ModelFacts(window=200_000, images=False)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        number = sum(isinstance(message, AssistantMessage) for message in request.messages)
        step = next_step(self._task, number, _shown(request))
        if step.says:
            yield TextChunk(step.says)
        calls = tuple(
            ModelToolCall(f"call-{number}-{index}", one.tool, one.json_arguments)
            for index, one in enumerate(step.calls)
        )
        for one in calls:
            yield ToolCallChunk(one.id, one.name, one.arguments)
            yield ToolCallReady(one)
        yield _usage(request, step)
        said = (ModelText(step.says),) if step.says else ()
        message = AssistantMessage((*said, *calls), model=self.name)
        yield ResponseFinished("tool_calls" if calls else "stop", message)

    async def close(self) -> None:
        """Nothing to do: no connection is open."""


def next_step(task: EvaluationTask, number: int, shown: str) -> ScriptedStep:
    """Return a step of the script, or text that ends the turn if the script is over or was not shown enough."""
    if number >= len(task.script):
        return ScriptedStep(says="The script of this task is over.")
    step = task.script[number]
    missing = [text for text in step.sees if text not in shown]
    if missing:
        return ScriptedStep(says=f"The script of this task expected to be shown: {missing[0]}")
    return step


def _shown(request: ModelRequest) -> str:
    """Return the text that is new to the model in this request: its instructions and the last message."""
    return "\n".join((request.system, *map(_text, request.messages[-1:])))


def _text(message: Message) -> str:
    match message:
        case UserMessage(parts=parts) | AssistantMessage(parts=parts):
            return "".join(part.text for part in parts if isinstance(part, ModelText))
        case ToolMessage(results=results):
            parts_of_all = (part for result in results for part in result.parts)
            return "\n".join(part.text for part in parts_of_all if isinstance(part, ModelText))


def _usage(request: ModelRequest, step: ScriptedStep) -> ModelUsage:
    sent = len(request.system) + sum(len(_text(message)) for message in request.messages)
    received = len(step.says) + sum(len(one.tool) + len(one.json_arguments) for one in step.calls)
    return ModelUsage(
        input=sent // _CHARACTERS_PER_TOKEN, output=received // _CHARACTERS_PER_TOKEN + 1, cost_usd=0.0
    )
