"""/search: finds text or a regular expression in the workspace, grouped by file."""

import re
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.markdown import code_block, count, inline_code
from portico.porter.search.text_search import SearchResult, TextMatch, TextQuery, search
from portico.porter.tool_call import ToolCallDetails
from portico.porter.turn import PorterTurn
from portico.porter.workspace import Workspace, exists, first_word

MAX_MATCHES = 200
_MAX_PER_FILE = 20
_LONGEST_LINE = 200
_REGEX = re.compile(r"/((?:[^/\\]|\\.)+)/(i?)(?:\s+|$)")


class SearchArguments(msgspec.Struct, frozen=True):
    query: TextQuery
    place: Path | None

    def __str__(self) -> str:
        return f"/{self.query.text}/" if self.query.is_regex else self.query.text


async def run(turn: PorterTurn, argument: str) -> None:
    wanted = _wanted(argument.strip().split("\n", 1)[0].strip(), turn.workspace)
    where = "" if wanted.place is None else f" in {turn.workspace.shown(wanted.place)}"
    work = ToolCallDetails(
        title=f"Search for {wanted}{where}",
        kind="search",
        raw_input={"query": wanted.query.text, "regex": wanted.query.is_regex},
    )
    async with turn.tool(work) as call:
        found = await search(wanted.query, turn.workspace, wanted.place, MAX_MATCHES, turn.environ)
        call.locate((match.path, match.line) for match in found.matches)
        call.add_text(_summary(wanted, where, found))
    await turn.say(_summary(wanted, where, found))
    for path, matches in found.by_file().items():
        await turn.say(_file(path, matches, turn.workspace))
    if found.cut:
        await turn.say(
            f"Only the first {MAX_MATCHES} matches are shown; use a longer text or a path to narrow the search."
        )


def _wanted(line: str, workspace: Workspace) -> SearchArguments:
    if not line or "\0" in line:
        raise usage_error(COMMAND.usage, "Say what to search for.")
    if regex := _REGEX.match(line):
        text = regex[1].replace(r"\/", "/")
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidInput(f"{inline_code(text)} is not a valid regular expression: {error}.") from error
        query = TextQuery(text=text, is_regex=True, ignore_case=bool(regex[2]))
        return SearchArguments(query, _place(line[regex.end() :], workspace))
    if line[0] in "\"'":
        text, rest = first_word(line)
        place = _place(rest, workspace)
    else:
        text, place = _text_and_place(line, workspace)
    if not text.strip():
        raise usage_error(COMMAND.usage, "Say what to search for.")
    return SearchArguments(TextQuery(text=text, ignore_case=text == text.lower()), place)


def _text_and_place(line: str, workspace: Workspace) -> tuple[str, Path | None]:
    """Take the last word as the path to search, if it exists."""
    text, _, last = line.rpartition(" ")
    if text.strip() and (place := _existing(last, workspace)) is not None:
        return text.strip(), workspace.inside(place)
    return line, None


def _place(name: str, workspace: Workspace) -> Path | None:
    return workspace.place(name) if name.strip() else None


def _existing(name: str, workspace: Workspace) -> Path | None:
    try:
        path = workspace.locate(name)
    except InvalidInput:
        return None
    return path if exists(path) else None


def _summary(wanted: SearchArguments, where: str, found: SearchResult) -> str:
    if not found.matches:
        return f"No matches for {inline_code(str(wanted))}{where}. Files ignored by git are not searched."
    more = " at least" if found.cut else ""
    total, files = len(found.matches), len(found.by_file())
    return f"Found{more} {count(total, 'match', 'matches')} in {count(files, 'file')} for {inline_code(str(wanted))}{where}."


def _file(path: Path, matches: list[TextMatch], workspace: Workspace) -> str:
    width = len(str(matches[-1].line))
    lines = [f"{match.line:>{width}}: {match.text[:_LONGEST_LINE]}" for match in matches[:_MAX_PER_FILE]]
    if len(matches) > _MAX_PER_FILE:
        lines.append(f"… and {len(matches) - _MAX_PER_FILE} more")
    heading = f"**{inline_code(workspace.shown(path))}** — {count(len(matches), 'match', 'matches')}"
    return f"{heading}\n\n{code_block(chr(10).join(lines))}"


COMMAND = SlashCommand(
    name="search",
    purpose="find text or a /regular expression/ in the workspace",
    hint="<text or /regex/> [path]",
    run=run,
    more=(
        "`/search timeout` ignores case as long as the text has no capital letter. `/search /def \\w+_id/ src` "
        "searches for a regular expression below `src`; `/regex/i` ignores case. Quote a text that contains spaces: "
        '`/search "in tests"`.'
    ),
)
