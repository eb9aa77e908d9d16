"""The answer to free text while no model is connected: commands that would help here."""

import asyncio
import re

from portico.porter.markdown import inline_code
from portico.porter.turn import PorterTurn
from portico.project.folder import ProjectFolder
from portico.project.formatters import find_formatters
from portico.project.runners import find_runners

_MAX_EXAMPLES = 3
# Only at the start of a word: otherwise a pasted word of a megabyte would take hours.
_NAME_LIKE = re.compile(
    r"(?<!\w)(?:[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]*_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*)"
)


async def answer_without_model(turn: PorterTurn, text: str) -> None:
    if text:
        await turn.say(
            "I cannot answer that in my own words: I am Porter, and no model is connected to me yet. "
            "Without one I can run commands in this folder."
        )
    else:
        await turn.say("The prompt is empty. I am Porter, and I can run commands in this folder.")
    examples = await asyncio.to_thread(_examples, turn, text)
    await turn.say("For example:\n\n" + "\n".join(f"- {example}" for example in examples))
    await turn.say("`/help` lists all commands.")
    if turn.attached:
        await turn.say(
            f"You attached {', '.join(inline_code(one.name) for one in turn.attached)}; `/read` without a path shows it."
        )
    await turn.say(
        "To connect a model, choose *Connect a model* in the chat. In a terminal, `portico models list` shows the "
        "models, and `portico models pull qwen2.5-coder` downloads one that needs no key and no network."
    )


def _examples(turn: PorterTurn, text: str) -> list[str]:
    """Return commands that are useful in this folder. Blocks: it reads the folder."""
    project = ProjectFolder(turn.workspace.root, turn.environ)
    examples: list[str] = []
    names = (found[0] for found in _NAME_LIKE.finditer(text))
    if name := next((name for name in names if len(name) <= 60), None):
        examples.append(f"`/explain {name}` shows where it is defined and used")
    if runners := find_runners(project).found:
        examples.append(f"`/test` runs the tests of this project, with {inline_code(str(runners[0]))}")
    if tools := find_formatters(project, ".", "").found:
        examples.append(f"`/fix` formats the code, with {inline_code(str(tools[0]))}")
    if readme := project.has("README*"):
        examples.append(f"`/read {readme}` shows the project's README")
    examples.append("`/search TODO` finds text in all files")
    if len(examples) < 2:
        examples.append("`/run ls` runs a command after asking you")
    return examples[:_MAX_EXAMPLES]
