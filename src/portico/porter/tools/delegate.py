"""delegate: gives a task to a helper with its own history, and returns its report."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tool_call import ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class DelegateParameters(ToolParameters, frozen=True, kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=80, description="A few words, shown to the user.")]
    task: Annotated[
        str,
        Meta(
            min_length=1,
            description="Everything the helper needs to know: it does not see this conversation.",
        ),
    ]
    scenario: Annotated[
        str, Meta(description="How to work: ASK to look, RESEARCH, PLAN, CODE to change.")
    ] = "ASK"


async def run(context: ToolContext, parameters: DelegateParameters) -> str:
    if context.delegate is None:
        raise ToolError("A delegated task cannot delegate. Do it yourself.")
    return await context.delegate(parameters.title, parameters.task, parameters.scenario)


TOOL = BuiltInTool(
    name="delegate",
    description=(
        "Give a task to a helper with its own context, for a long search or a separate piece of work that would fill "
        "yours. It has no more tools than you, and returns a report."
    ),
    parameters=DelegateParameters,
    run=run,
    changes=True,
)
