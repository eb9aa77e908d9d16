"""Puts together what the whole workspace says about a symbol, from the files in which its name occurs."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from portico.domain.errors import PermissionDenied
from portico.files import real
from portico.porter.markdown import language_of
from portico.porter.searching import Findings, Match
from portico.porter.symbols import patterns, python
from portico.porter.symbols.definition import Definition, Symbol
from portico.porter.workspace import Workspace

_LARGEST = 2 * 1024 * 1024


class Survey(msgspec.Struct, frozen=True):
    """Uses are in code that can use the definition; mentions are in all other text. `cut` if there are more."""

    definitions: list[Definition]
    uses: list[Match]
    mentions: list[Match]
    cut: bool = False


def survey(symbol: Symbol, found: Findings, workspace: Workspace) -> Survey:
    """Read every file in which the name occurs. Blocks: call it in a thread."""
    definitions: list[Definition] = []
    occurrences: list[Match] = []
    for path, matches in found.by_file().items():
        source = _read(path, workspace)
        texts = {match.line: match.text for match in matches}
        examined = None
        if path.suffix in python.SUFFIXES:
            examined = python.examine(path, module_of(path, workspace), source, symbol)
        if examined is not None:
            definitions += examined.definitions
            occurrences += [Match(path, line, texts.get(line, "")) for line in examined.uses]
        else:
            here = patterns.definitions(path, source.decode(errors="replace"), symbol)
            definitions += here
            defining = {definition.line for definition in here}
            occurrences += [match for match in matches if match.line not in defining]
    uses, mentions = _sorted_out(occurrences, {definition.language for definition in definitions})
    return Survey(definitions, uses, mentions, found.cut)


def module_of(path: Path, workspace: Workspace) -> tuple[str, ...]:
    """The dotted name of a Python file, as far as its folders tell."""
    parts = Path(workspace.shown(path)).with_suffix("").parts
    return parts[:-1] if parts[-1:] == ("__init__",) else parts


def _sorted_out(occurrences: Iterable[Match], languages: set[str]) -> tuple[list[Match], list[Match]]:
    uses: list[Match] = []
    mentions: list[Match] = []
    for match in occurrences:
        language = language_of(match.path)
        if languages:
            is_use = any(patterns.same_family(language, one) for one in languages)
        else:
            is_use = language == "python" or language in patterns.FAMILIES
        (uses if is_use else mentions).append(match)
    return uses, mentions


def _read(path: Path, workspace: Workspace) -> bytes:
    try:
        return real.read(workspace.inside(path), limit=_LARGEST)
    except (OSError, PermissionDenied):
        return b""
