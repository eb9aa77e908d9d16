"""/plan: the steps of the work at hand, shown in the client's plan view."""

import re

from portico.porter.commands.command import Command
from portico.porter.lists import checklist, done, one_line, position
from portico.porter.transcripts import Item
from portico.porter.turn import Turn

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


async def run(turn: Turn, argument: str) -> None:
    text = argument.strip()
    if text == "clear":
        turn.set_plan(())
    elif ticked := re.fullmatch(r"done\s+(\S+)", text):
        turn.set_plan(done(turn.plan, position(turn.plan, ticked[1])))
    elif text:
        turn.set_plan(_steps(text))
    else:
        turn.show_plan()
    if turn.plan:
        finished = sum(item.done for item in turn.plan)
        await turn.say(f"**Plan** — {finished} of {len(turn.plan)} done\n\n{checklist(turn.plan)}")
    else:
        await turn.say("There is no plan. `/plan first step; second step` makes one.")


def _steps(text: str) -> tuple[Item, ...]:
    """Steps separated by semicolons or written as lines, with or without bullets."""
    parts = (one_line(_BULLET.sub("", part)) for part in re.split(r"[;\n]", text))
    return tuple(Item(part) for part in parts if part)


COMMAND = Command(
    name="plan",
    purpose="show the plan, or set its steps",
    hint="[step; step; step | done <n> | clear]",
    run=run,
)
