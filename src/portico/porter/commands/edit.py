"""/edit: replaces exact text in a file, after showing the difference and asking."""

import re

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.commands.file_change import change_file
from portico.porter.search_replace import parse_blocks
from portico.porter.text_replacement import TextReplacement, replace_text
from portico.porter.turn import PorterTurn
from portico.porter.workspace import first_word

_SUBSTITUTION = re.compile(
    r"s(?P<mark>[^\w\s\\])(?P<old>(?:\\.|(?!(?P=mark))[^\\])+)(?P=mark)(?P<new>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)"
    r"(?P<all>g?|\s+all)\s*"
)
_ESCAPED = {"n": "\n", "t": "\t"}

HOW = (
    "Two forms. On one line, literal text between marks, where `\\n` is a new line:\n\n"
    "```\n/edit src/a.py s/old/new/\n```\n\n"
    "Or one or more blocks with the exact lines:\n\n"
    "```\n/edit src/a.py\n<<<<<<< SEARCH\nold lines\n=======\nnew lines\n>>>>>>> REPLACE\n```\n\n"
    "The old text must occur in the file exactly once. `s/old/new/ all`, or `/edit src/a.py all` before blocks, "
    "replaces every occurrence."
)


class EditArguments(msgspec.Struct, frozen=True):
    name: str
    replacements: tuple[TextReplacement, ...]
    everywhere: bool = False


async def run(turn: PorterTurn, argument: str) -> None:
    edit = _parse(argument)
    path = turn.workspace.locate(edit.name)
    before = await turn.files.read(path)
    after = before
    for replacement in edit.replacements:
        after, _ = replace_text(after, replacement, everywhere=edit.everywhere)
    await change_file(turn, path, before, after, command=COMMAND.name)


def _parse(argument: str) -> EditArguments:
    head, _, body = argument.partition("\n")
    name, rest = first_word(head)
    if not name:
        raise usage_error(COMMAND.usage, "Say which file to edit.")
    if substitution := _SUBSTITUTION.fullmatch(rest.strip()):
        replacement = TextReplacement(
            *(_plain(substitution[part], substitution["mark"]) for part in ("old", "new"))
        )
        return EditArguments(name, (replacement,), everywhere=bool(substitution["all"].strip()))
    blocks = parse_blocks(body)
    if not blocks or rest.strip() not in ("", "all"):
        raise InvalidInput("Porter does not understand that edit.", suggestion=HOW)
    if not all(block.old for block in blocks):
        raise InvalidInput(
            "A SEARCH block is empty.", suggestion="`/write` creates files and replaces whole ones."
        )
    return EditArguments(name, blocks, everywhere=rest.strip() == "all")


def _plain(text: str, mark: str) -> str:
    """Resolve escaped marks, line breaks, tabs and backslashes."""

    def meant(escape: re.Match[str]) -> str:
        letter = escape[1]
        return letter if letter in (mark, "\\") else _ESCAPED.get(letter, escape[0])

    return re.sub(r"\\(.)", meant, text)


COMMAND = SlashCommand(
    name="edit",
    purpose="replace text in a file",
    hint="<path> s/old/new/ [all], or SEARCH/REPLACE blocks on the next lines",
    run=run,
    more=HOW,
)
