"""Files outside a proposal that use what it changes."""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from portico.domain.reviews import ProposedFile
from portico.domain.windows import CodeLocation, CodeLookup
from portico.sessions.code_servers import CodeServers, CodeTree

MOST_FILES = 20
MOST_SYMBOLS = 30


async def find_affected_files(
    servers: CodeServers, tree: CodeTree, proposed: Sequence[ProposedFile]
) -> list[str]:
    """Paths within the tree as it is before the change. LanguageServerFailed if a server cannot tell."""
    changed = {name for file in proposed for name in (file.path, file.old_path)}
    found: dict[str, None] = {}
    asked = 0
    for file in proposed:
        if file.binary or file.operation == "create":
            continue
        path = str(tree.folder / (file.old_path or file.path))
        symbols = (await servers.look_up(tree, CodeLookup(kind="symbols", path=path))).places
        for symbol in _changed_symbols(symbols, file):
            if asked == MOST_SYMBOLS or len(found) >= MOST_FILES:
                return list(found)[:MOST_FILES]
            asked += 1
            lookup = CodeLookup(kind="references", path=path, line=symbol.line, column=symbol.column)
            uses = (await servers.look_up(tree, lookup)).places
            names = (_name_in(tree.folder, use.path) for use in uses)
            found |= {name: None for name in names if name is not None and name not in changed}
    return list(found)[:MOST_FILES]


def _changed_symbols(symbols: Sequence[CodeLocation], file: ProposedFile) -> Iterable[CodeLocation]:
    """What is defined on changed lines, and what encloses them; all of a file that is deleted."""
    if file.operation == "delete":
        return symbols
    lines = [(hunk.old_start - 1, hunk.old_start - 1 + hunk.old_lines) for hunk in file.hunks]
    kept = {one.name: one for one in symbols if any(first <= one.line < end for first, end in lines)}
    for first, _ in lines:
        before = [one for one in symbols if one.line <= first]
        names = {before[-1].name, before[-1].name.rpartition(".")[0]} if before else set()
        kept |= {one.name: one for one in before if one.name in names}
    return kept.values()


def _name_in(folder: Path, path: str) -> str | None:
    place = PurePath(path)
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else None
