"""/explain: shows the definition, signature, documentation and uses of a name."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from portico.acp import _schema as schema
from portico.acp.extensions import ServerMeta, from_meta
from portico.mcp.client import McpClient
from portico.mcp.client_transport import McpServerFailed
from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.markdown import code_block, count, inline_code, shortened
from portico.porter.mcp_program import PORTER, open_program
from portico.porter.mcp_requests import ServerRequests
from portico.porter.search.symbol import Symbol, SymbolDefinition
from portico.porter.search.symbol_patterns import ANY_DEFINITION
from portico.porter.search.symbol_report import SymbolReport, build_report
from portico.porter.search.text_search import TextMatch, TextQuery, search
from portico.porter.tool_call import ToolCallDetails
from portico.porter.turn import PorterTurn
from portico.porter.workspace import Workspace, first_word
from portico.rpc.messages import RpcError

_MAX_OCCURRENCES = 5000
_MAX_DEFINITIONS = 8
_MAX_PLACES = 10
_DEFINING_WORD = re.compile(ANY_DEFINITION)


_CODE_SERVER = "portico-code"
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+):\d+(?:  (?P<text>.*))?")


async def run(turn: PorterTurn, argument: str) -> None:
    word, rest = first_word(argument)
    symbol = _symbol(word)
    if symbol is None:
        raise usage_error(COMMAND.usage, "Say which name to explain.")
    place = turn.workspace.place(rest) if rest.strip() else None
    known = await _look_up(turn, symbol, place)
    if known.definitions:
        await _explain(turn, symbol, known)
    else:
        await _not_found(turn, symbol, place, known)
    if turn.attached:
        names = ", ".join(inline_code(one.name) for one in turn.attached)
        await turn.say(
            f"This covers the whole workspace, not only {names}. To limit it, add a path: `{COMMAND.usage}`."
        )


async def explain_if_defined(turn: PorterTurn, name: str, before: str) -> bool:
    """Say `before` and explain a name if the workspace defines it; otherwise say nothing."""
    symbol = _symbol(name)
    if symbol is None:
        return False
    known = await _look_up(turn, symbol, None)
    if known.definitions:
        await turn.say(before)
        await _explain(turn, symbol, known)
    return bool(known.definitions)


async def _look_up(turn: PorterTurn, symbol: Symbol, place: Path | None) -> SymbolReport:
    async with turn.tool(
        ToolCallDetails(title=f"Explain {symbol}", kind="search", raw_input={"symbol": str(symbol)})
    ) as call:
        query = TextQuery(text=symbol.name, whole_word=True)
        found = await search(query, turn.workspace, place, _MAX_OCCURRENCES, turn.environ)
        known = await asyncio.to_thread(build_report, symbol, found, turn.workspace)
        known = await _with_exact_uses(turn, symbol, known)
        call.locate(_all_places(known))
    return known


async def _with_exact_uses(turn: PorterTurn, symbol: Symbol, known: SymbolReport) -> SymbolReport:
    """The report with the uses that a language server knows, where it knows them: by meaning, not by name."""
    if len(known.definitions) != 1:
        return known
    uses = await _find_references(turn, symbol, known.definitions[0])
    return known if uses is None else msgspec.structs.replace(known, uses=uses, mentions=[], cut=False)


def _symbol(word: str) -> Symbol | None:
    plain = word.strip("`'\"").removesuffix("()")
    parts = tuple(part for part in re.split(r"\.|::|#|->", plain) if part)
    return Symbol(parts) if parts and all(re.fullmatch(r"[\w$]+", part) for part in parts) else None


async def _explain(turn: PorterTurn, symbol: Symbol, known: SymbolReport) -> None:
    definitions = known.definitions
    if len(definitions) > 1:
        await turn.say(f"{inline_code(str(symbol))} has {count(len(definitions), 'definition')}:")
    for definition in definitions[:_MAX_DEFINITIONS]:
        await turn.say(_described(definition, turn.workspace, brief=len(definitions) > 3))
    if len(definitions) > _MAX_DEFINITIONS:
        rest = definitions[_MAX_DEFINITIONS:]
        await turn.say(
            "And " + ", ".join(inline_code(_place(one.path, one.line, turn.workspace)) for one in rest) + "."
        )
    await turn.say(_used(symbol, known, turn.workspace))


def _described(definition: SymbolDefinition, workspace: Workspace, *, brief: bool) -> str:
    place = _place(definition.path, definition.line, workspace)
    parts = [f"**{inline_code(definition.name)}** — {definition.kind} in {inline_code(place)}"]
    decorators = "".join(f"@{decorator}\n" for decorator in definition.decorators)
    parts.append(code_block(decorators + definition.signature, definition.language))
    if definition.documentation:
        text = shortened(definition.documentation, 200) if brief else definition.documentation
        parts.append("\n".join(f"> {line}".rstrip() for line in text.split("\n")))
    if definition.members and not brief:
        parts.append("Its methods: " + ", ".join(map(inline_code, definition.members)) + ".")
    return "\n\n".join(part.rstrip("\n") for part in parts)


def _used(symbol: Symbol, known: SymbolReport, workspace: Workspace) -> str:
    if not known.uses:
        where = f" It is mentioned in {_files(known.mentions)}." if known.mentions else ""
        return f"No uses were found.{where}"
    at_least = "at least " if known.cut else ""
    total = count(len(known.uses), "time")
    # Without a language server, names are compared and not types: methods of other classes count too.
    heading = f"The name {inline_code(symbol.name)} is used {at_least}{total} in {count(len({use.path for use in known.uses}), 'file')}"
    mentioned = f", and mentioned in {_files(known.mentions)}" if known.mentions else ""
    return f"{heading}{mentioned}:\n\n{_places(known.uses, workspace)}"


def _places(matches: list[TextMatch], workspace: Workspace) -> str:
    lines = [
        f"- {inline_code(_place(match.path, match.line, workspace))}"
        + (f" {inline_code(shortened(match.text, 100))}" if match.text.strip() else "")
        for match in dict.fromkeys(matches[:_MAX_PLACES])
    ]
    if len(matches) > _MAX_PLACES:
        lines.append(f"- … and {len(matches) - _MAX_PLACES} more")
    return "\n".join(lines)


async def _not_found(turn: PorterTurn, symbol: Symbol, place: Path | None, known: SymbolReport) -> None:
    await turn.say(f"No definition of {inline_code(str(symbol))} was found here.")
    occurrences = known.uses or known.mentions
    if occurrences:
        await turn.say(
            f"The name occurs {count(len(occurrences), 'time')}:\n\n{_places(occurrences, turn.workspace)}"
        )
    near = await _near_names(turn, symbol, place)
    if near:
        await turn.say(f"Did you mean {' or '.join(map(inline_code, near))}?")
    elif not occurrences:
        await turn.say("Files ignored by git are not searched.")


async def _near_names(turn: PorterTurn, symbol: Symbol, place: Path | None) -> list[str]:
    from difflib import get_close_matches

    query = TextQuery(text=ANY_DEFINITION, is_regex=True)
    found = await search(query, turn.workspace, place, _MAX_OCCURRENCES, turn.environ)
    names = {
        word[0].split()[-1] for match in found.matches for word in _DEFINING_WORD.finditer(match.text[:500])
    }
    by_lower = {name.lower(): name for name in names if name != symbol.name}
    return [by_lower[near] for near in get_close_matches(symbol.name.lower(), by_lower, n=3, cutoff=0.6)]


def _files(matches: list[TextMatch]) -> str:
    return count(len({match.path for match in matches}), "other file")


def _place(path: Path, line: int, workspace: Workspace) -> str:
    return f"{workspace.shown(path)}:{line}"


def _all_places(known: SymbolReport) -> list[tuple[Path, int]]:
    defined = [(definition.path, definition.line) for definition in known.definitions]
    return list(dict.fromkeys([*defined, *((use.path, use.line) for use in known.uses)]))


async def _find_references(
    turn: PorterTurn, symbol: Symbol, definition: SymbolDefinition
) -> list[TextMatch] | None:
    """The uses of what is defined at a place; None if no language server can tell."""
    server = _code_server(turn)
    if server is None:
        return None
    requests = ServerRequests((turn.workspace.root,), can_ask=False)
    try:
        transport = await open_program(server, turn.workspace.root, turn.environ, requests)
        client = McpClient(server.name, transport, requests, PORTER)
        try:
            await client.begin()
            arguments = {"path": str(definition.path), "line": definition.line, "symbol": symbol.name}
            called = await client.call("references", arguments, _nothing_asked)
        finally:
            await client.close()
    except (McpServerFailed, RpcError):
        return None
    told = "\n".join(part.text or "" for part in called.content)
    return None if called.is_error else list(_reported_places(told, turn, definition)) or None


def _code_server(turn: PorterTurn) -> schema.McpServer | None:
    """The server of the code tools, if it is Portico's own."""
    servers = turn.session.parameters.mcp_servers
    return next(
        (
            server
            for server in servers
            if server.name == _CODE_SERVER and server.command and from_meta(server.meta, ServerMeta).trusted
        ),
        None,
    )


def _reported_places(told: str, turn: PorterTurn, definition: SymbolDefinition) -> Iterator[TextMatch]:
    for line in told.split("\n"):
        if (found := _PLACE.fullmatch(line)) is not None:
            path = turn.workspace.root / found["path"]
            if (path, int(found["line"])) != (definition.path, definition.line):
                yield TextMatch(path, int(found["line"]), found["text"] or "")


@contextmanager
def _nothing_asked(*_: Any) -> Iterator[None]:
    yield


COMMAND = SlashCommand(
    name="explain",
    purpose="show the definition, signature, documentation and uses of a name",
    hint="<symbol> [path]",
    run=run,
    more=(
        "The name may be qualified, as in `/explain Session.close`. Python files are parsed; in other languages "
        "definitions are recognised by line patterns, and uses by the whole word."
    ),
)
