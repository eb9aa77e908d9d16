"""delegate: gives a task to a second conversation with a memory of its own, and gets its report."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Parameters, Tool, ToolFailure


class DelegateTask(Parameters, frozen=True, kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=80, description="A few words that the person sees.")]
    task: Annotated[
        str,
        Meta(
            min_length=1,
            description="Everything that is needed to do it: it does not know this conversation.",
        ),
    ]
    scenario: Annotated[
        str, Meta(description="How to work: ASK to look, RESEARCH, PLAN, CODE to change.")
    ] = "ASK"


async def run(bench: Bench, wanted: DelegateTask) -> str:
    if bench.delegate is None:
        raise ToolFailure("A task that was delegated cannot delegate. Do it yourself.")
    return await bench.delegate(wanted.title, wanted.task, wanted.scenario)


TOOL = Tool(
    name="delegate",
    description=(
        "Give a task to a helper with a fresh memory, for a long search or a separate piece of work that would fill "
        "yours. It may use no more tools than you, and answers with a report."
    ),
    parameters=DelegateTask,
    run=run,
    changes=True,
)
