"""The answer to free text while no model is connected: commands that would help here."""

import asyncio
import re

from portico.porter.markdown import inline_code
from portico.porter.project.folder import ProjectFolder
from portico.porter.project.formatters import find_formatters
from portico.porter.project.runners import find_runners
from portico.porter.turn import PorterTurn

_MAX_EXAMPLES = 3
# Only where a word begins: looked for within one as well, a pasted word of a megabyte takes hours.
_NAME_LIKE = re.compile(
    r"(?<!\w)(?:[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]*_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*)"
)


async def answer_without_model(turn: PorterTurn, text: str) -> None:
    if text:
        await turn.say(
            "I cannot answer that in my own words: I am Porter, and no model is connected to me yet. "
            "What I can do without one is work in this folder with commands."
        )
    else:
        await turn.say("That prompt holds no text. I am Porter, and I work in this folder with commands.")
    examples = await asyncio.to_thread(_examples, turn, text)
    await turn.say("For example:\n\n" + "\n".join(f"- {example}" for example in examples))
    await turn.say("`/help` shows every command.")
    if turn.attached:
        await turn.say(
            f"You attached {', '.join(inline_code(one.name) for one in turn.attached)}; `/read` alone shows that."
        )
    await turn.say(
        "To connect a model, choose *Connect a model* in the chat of Portico's page or of VS Code. In a terminal, "
        "`portico models list` shows what there is, `portico auth login PROVIDER` keeps a key, and "
        "`portico models use PROVIDER:MODEL` chooses one. `portico models pull smollm2` fetches a tiny one that "
        "needs neither key nor network. Or talk to another agent through Portico: "
        '`portico exec --agent claude "…"`, or any program that speaks ACP with '
        '`portico exec --agent-command "program" "…"`.'
    )


def _examples(turn: PorterTurn, text: str) -> list[str]:
    """Commands that would do something here. Blocks: it looks at the folder."""
    project = ProjectFolder(turn.workspace.root, turn.environ)
    examples: list[str] = []
    names = (found[0] for found in _NAME_LIKE.finditer(text))
    if name := next((name for name in names if len(name) <= 60), None):
        examples.append(f"`/explain {name}` shows where that is defined and used")
    if runners := find_runners(project).found:
        examples.append(f"`/test` runs the tests of this project, with {inline_code(str(runners[0]))}")
    if tools := find_formatters(project, ".", "").found:
        examples.append(f"`/fix` puts the code in order, with {inline_code(str(tools[0]))}")
    if readme := project.has("README*"):
        examples.append(f"`/read {readme}` shows what this project says about itself")
    examples.append("`/search TODO` finds text in all files")
    if len(examples) < 2:
        examples.append("`/run ls` runs a command, once you allow it")
    return examples[:_MAX_EXAMPLES]
