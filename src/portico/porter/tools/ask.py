"""ask: a question to the person, where the client can ask one."""

from typing import Annotated

import msgspec
from msgspec import Meta

from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Parameters, Tool, ToolFailure


class Choice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(min_length=1, max_length=100)]
    description: str = ""


class Ask(Parameters, frozen=True, kw_only=True):
    question: Annotated[str, Meta(min_length=1, max_length=2000)]
    choices: Annotated[
        tuple[Choice, ...], Meta(max_length=8, description="What to choose from; none for free text.")
    ] = ()


async def run(bench: Bench, wanted: Ask) -> str:
    async with bench.turn.tool(Work(title=wanted.question, kind="think")) as call:
        answer = await bench.turn.ask_person(
            call, wanted.question, [(choice.label, choice.description) for choice in wanted.choices]
        )
        if answer is None:
            raise ToolFailure(
                "The person did not answer. Go on with the most careful choice and say so, or end your turn with "
                "the question."
            )
        call.add_text(answer)
    return f"The person answered: {answer}"


TOOL = Tool(
    name="ask",
    description=(
        "Ask the person something that only they can decide, and wait for the answer. Not for permission: that is "
        "asked for you. Do not ask for passwords or keys."
    ),
    parameters=Ask,
    run=run,
)
