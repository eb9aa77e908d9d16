"""Collects the definitions, uses and mentions of a symbol in the workspace."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from portico.domain.errors import PermissionDenied
from portico.files import real_path
from portico.porter.markdown import language_of
from portico.porter.search import python_symbols, symbol_patterns
from portico.porter.search.symbol import Symbol, SymbolDefinition
from portico.porter.search.text_search import SearchResult, TextMatch
from portico.porter.workspace import Workspace

_LARGEST = 2 * 1024 * 1024


class SymbolReport(msgspec.Struct, frozen=True):
    """Occurrences of a symbol: uses in code that can refer to a definition, mentions elsewhere; `cut` if incomplete."""

    definitions: list[SymbolDefinition]
    uses: list[TextMatch]
    mentions: list[TextMatch]
    cut: bool = False


def build_report(symbol: Symbol, found: SearchResult, workspace: Workspace) -> SymbolReport:
    """Build a report from the files in which the name occurs. Blocks: call it in a thread."""
    definitions: list[SymbolDefinition] = []
    occurrences: list[TextMatch] = []
    for path, matches in found.by_file().items():
        source = _read(path, workspace)
        texts = {match.line: match.text for match in matches}
        examined = None
        if path.suffix in python_symbols.SUFFIXES:
            examined = python_symbols.analyze_file(path, module_name(path, workspace), source, symbol)
        if examined is not None:
            definitions += examined.definitions
            occurrences += [TextMatch(path, line, texts.get(line, "")) for line in examined.uses]
        else:
            here = symbol_patterns.definitions(path, source.decode(errors="replace"), symbol)
            definitions += here
            defining = {definition.line for definition in here}
            occurrences += [match for match in matches if match.line not in defining]
    uses, mentions = _sorted_out(occurrences, {definition.language for definition in definitions})
    return SymbolReport(definitions, uses, mentions, found.cut)


def module_name(path: Path, workspace: Workspace) -> tuple[str, ...]:
    """Return the dotted module name of a Python file, derived from its packages."""
    parts = Path(workspace.shown(path)).with_suffix("").parts
    return parts[:-1] if parts[-1:] == ("__init__",) else parts


def _sorted_out(
    occurrences: Iterable[TextMatch], languages: set[str]
) -> tuple[list[TextMatch], list[TextMatch]]:
    uses: list[TextMatch] = []
    mentions: list[TextMatch] = []
    for match in occurrences:
        language = language_of(match.path)
        if languages:
            is_use = any(symbol_patterns.same_family(language, one) for one in languages)
        else:
            is_use = language == "python" or language in symbol_patterns.FAMILIES
        (uses if is_use else mentions).append(match)
    return uses, mentions


def _read(path: Path, workspace: Workspace) -> bytes:
    try:
        return real_path.read(workspace.inside(path), limit=_LARGEST)
    except (OSError, PermissionDenied):
        return b""
