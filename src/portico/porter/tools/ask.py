"""ask: asks the user a question, if the client supports it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class AskChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(min_length=1, max_length=100)]
    description: str = ""


class AskParameters(ToolParameters, frozen=True, kw_only=True):
    question: Annotated[str, Meta(min_length=1, max_length=2000)]
    choices: Annotated[
        tuple[AskChoice, ...], Meta(max_length=8, description="Options to choose from; empty for free text.")
    ] = ()


async def run(context: ToolContext, parameters: AskParameters) -> str:
    async with context.turn.tool(ToolCallDetails(title=parameters.question, kind="think")) as call:
        answer = await context.turn.ask_person(
            call, parameters.question, [(choice.label, choice.description) for choice in parameters.choices]
        )
        if answer is None:
            raise ToolError(
                "The user did not answer. Continue with the most careful choice and say so, or end your turn with "
                "the question."
            )
        call.add_text(answer)
    return f"The user answered: {answer}"


TOOL = BuiltInTool(
    name="ask",
    description=(
        "Ask the user something that only they can decide, and wait for the answer. Not for permission: that is "
        "asked for you. Do not ask for passwords or keys."
    ),
    parameters=AskParameters,
    run=run,
)
