"""The answer to free text while no model is connected: commands that would help here."""

import asyncio
import re

from portico.porter.commands.explain import explain_if_defined
from portico.porter.markdown import inline_code
from portico.porter.search.symbol_patterns import ANY_DEFINITION
from portico.porter.turn import PorterTurn
from portico.project.folder import ProjectFolder
from portico.project.formatters import find_formatters
from portico.project.runners import find_runners

_MAX_EXAMPLES = 3
# Only at the start of a word: otherwise a pasted word of a megabyte would take hours.
_NAME_LIKE = re.compile(
    r"(?<!\w)(?:[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]*_\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*)"
)


_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^\1", re.MULTILINE | re.DOTALL)
_DEFINED = re.compile(ANY_DEFINITION)
_CALLED = re.compile(r"(?<!\w)[A-Za-z_]\w*(?=\()")
_FILE_ENDINGS = frozenset(
    [
        "c",
        "cc",
        "cfg",
        "cpp",
        "cs",
        "css",
        "go",
        "h",
        "hpp",
        "html",
        "ini",
        "java",
        "js",
        "json",
        "jsx",
        "kt",
        "lock",
        "md",
        "py",
        "rb",
        "rs",
        "sh",
        "sql",
        "toml",
        "ts",
        "tsx",
        "txt",
        "xml",
        "yaml",
        "yml",
    ]
)
_KEYWORDS = frozenset(
    ["if", "for", "while", "switch", "return", "catch", "print", "range", "len", "str", "int", "super"]
)
_MAX_TRIED = 3
_LONGEST_NAME = 60
_LONGEST_CODE = 20_000


async def answer_without_model(turn: PorterTurn, text: str) -> None:
    """Answer free text by what Porter can do: explain a name that is in it, or else name commands."""
    names = symbols_in(text)
    for name in names[:_MAX_TRIED]:
        before = (
            "No model is connected to me yet, so I cannot answer in my own words. "
            f"This is what the code says about {inline_code(name)}, from `/explain {name}`:"
        )
        if await explain_if_defined(turn, name, before):
            return
    if text:
        await turn.say(
            "No model is connected to me yet, so I cannot answer that in my own words. "
            "Without one I can run commands in this folder."
        )
    else:
        await turn.say("The prompt is empty. I am Porter, and I can run commands in this folder.")
    examples = await asyncio.to_thread(_examples, turn, names)
    await turn.say("For example:\n\n" + "\n".join(f"- {example}" for example in examples))
    await turn.say("`/help` lists all commands, and `portico models list` the models that can be connected.")
    if turn.attached:
        await turn.say(
            f"You attached {', '.join(inline_code(one.name) for one in turn.attached)}; `/read` without a path shows it."
        )


def symbols_in(text: str) -> list[str]:
    """Return names in a text that code may define, the likeliest first: what its code blocks define, then call."""
    head = text[:_LONGEST_CODE]
    code = "\n".join(found["code"] for found in _FENCE.finditer(head))
    defined = [found[0].split()[-1] for found in _DEFINED.finditer(code)]
    words = [found[0] for found in _NAME_LIKE.finditer(_FENCE.sub("", head) + text[_LONGEST_CODE:])]
    called = [found[0] for found in _CALLED.finditer(code)]
    names = dict.fromkeys((*defined, *(word for word in words if not _is_file(word)), *called))
    return [name for name in names if len(name) <= _LONGEST_NAME and name not in _KEYWORDS]


def _is_file(word: str) -> bool:
    return word.rpartition(".")[2].lower() in _FILE_ENDINGS


def _examples(turn: PorterTurn, names: list[str]) -> list[str]:
    """Return commands that are useful in this folder. Blocks: it reads the folder."""
    project = ProjectFolder(turn.workspace.root, turn.environ)
    examples: list[str] = []
    if names:
        examples.append(f"`/explain {names[0]}` shows where it is defined and used")
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
