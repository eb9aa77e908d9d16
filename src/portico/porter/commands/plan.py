"""/plan: shows or sets the steps in the client's plan view."""

import re

from portico.porter.checklist import item_index, mark_done, one_line, render_checklist
from portico.porter.commands.command import SlashCommand
from portico.porter.transcript import ChecklistItem
from portico.porter.turn import PorterTurn

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


async def run(turn: PorterTurn, argument: str) -> None:
    text = argument.strip()
    if text == "clear":
        turn.set_plan(())
    elif ticked := re.fullmatch(r"done\s+(\S+)", text):
        turn.set_plan(mark_done(turn.plan, item_index(turn.plan, ticked[1])))
    elif text:
        turn.set_plan(_steps(text))
    else:
        turn.show_plan()
    if turn.plan:
        finished = sum(item.done for item in turn.plan)
        await turn.say(f"**Plan** — {finished} of {len(turn.plan)} done\n\n{render_checklist(turn.plan)}")
    else:
        await turn.say("There is no plan. `/plan first step; second step` creates one.")


def _steps(text: str) -> tuple[ChecklistItem, ...]:
    """Split steps at semicolons or line ends, and remove bullets."""
    parts = (one_line(_BULLET.sub("", part)) for part in re.split(r"[;\n]", text))
    return tuple(ChecklistItem(part) for part in parts if part)


COMMAND = SlashCommand(
    name="plan",
    purpose="show the plan, or set its steps",
    hint="[step; step; step | done <n> | clear]",
    run=run,
)
