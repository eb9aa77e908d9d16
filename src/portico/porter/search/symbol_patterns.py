"""Finds definitions by line patterns, in languages that Porter does not parse."""

import re
from functools import lru_cache
from pathlib import Path

from portico.porter.markdown import language_of
from portico.porter.search.symbol import Symbol, SymbolDefinition

_SCRIPT = {
    "function": r"(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*NAME\b",
    "class": r"(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s+NAME\b",
    "type": r"(?:export\s+)?(?:declare\s+)?(?:interface|type|enum|namespace)\s+NAME\b",
    "variable": r"(?:export\s+)?(?:declare\s+)?(?:const|let|var)\s+NAME\b",
    "method": r"(?:(?:public|private|protected|static|override|readonly|async|get|set)\s+)*\#?NAME\s*(?:<[^>]*>)?\([^;]*\{\s*$",
}
_OBJECTS = {
    "type": r"(?:(?:public|private|protected|internal|static|abstract|final|sealed|partial|data)\s+)*(?:class|interface|enum|record|struct|@interface|object)\s+NAME\b",
    "method": r"(?:@\w+\s+)*(?:(?:public|private|protected|internal|static|abstract|final|synchronized|native|default|virtual|override|async)\s+)+(?:<[^>]+>\s+)?[\w<>\[\],.?\s]*\bNAME\s*\(",
    "function": r"(?:(?:public|private|internal|override|suspend|inline)\s+)*fun\s+(?:<[^>]+>\s+)?(?:\w+\.)?NAME\s*\(",
}
_C = {
    "macro": r"\#\s*define\s+NAME\b",
    "type": r"(?:typedef\s+)?(?:struct|enum|union|class|namespace)\s+(?:class\s+)?NAME\b\s*[^;()]*$",
    "typedef": r"(?:typedef\b.*\bNAME\s*;|using\s+NAME\s*=)",
    "function": r"(?!return\b|else\b|case\b|goto\b)[A-Za-z_][\w\s*&:<>,~]*[\s*&]+(?:\w+::)*NAME\s*\([^;]*$",
}
_GO = {
    "function": r"func\s+NAME\s*[\[(]",
    "method": r"func\s+\([^)]*\)\s+NAME\s*\(",
    "type": r"type\s+NAME\b",
    "variable": r"(?:var|const)\s+NAME\b",
}
_RUST = {
    "function": r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*fn\s+NAME\b",
    "type": r"(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union|type|mod)\s+NAME\b",
    "variable": r"(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\s+(?:mut\s+)?NAME\b",
    "macro": r"macro_rules!\s*NAME\b",
}
_RUBY = {"method": r"def\s+(?:self\.)?NAME(?![\w])", "type": r"(?:class|module)\s+NAME\b"}

# Languages that can use each other's names share a group.
FAMILIES = {
    "typescript": _SCRIPT, "tsx": _SCRIPT, "javascript": _SCRIPT, "jsx": _SCRIPT,
    "java": _OBJECTS, "kotlin": _OBJECTS, "csharp": _OBJECTS,
    "c": _C, "cpp": _C, "go": _GO, "rust": _RUST, "ruby": _RUBY,
}  # fmt: skip

_COMMENT = re.compile(r"\s*(?://+[/!]?|/\*+|\*+/|\*|#(?!\[|\s*define))\s?")
_LONGEST_SIGNATURE = 8
_LONGEST_COMMENT = 30
_LONGEST_LINE = 500

# Matches definitions in any language; used for suggestions if a name is not found.
ANY_DEFINITION = (
    r"\b(?:def|class|function|func|fn|struct|enum|interface|trait|type|const|record|module)\s+[A-Za-z_]\w+"
)


def definitions(path: Path, source: str, symbol: Symbol) -> list[SymbolDefinition]:
    """Find lines that look like definitions of a symbol."""
    language = language_of(path)
    lines = source.split("\n")
    found = []
    for number, line in enumerate(lines):
        promising = symbol.name in line and len(line) <= _LONGEST_LINE
        kind = _kind(language, symbol.name, line) if promising else None
        if kind is not None:
            found.append(
                SymbolDefinition(
                    name=symbol.name,
                    kind=kind,
                    path=path,
                    line=number + 1,
                    signature=_signature(lines, number),
                    language=language,
                    documentation=_comment_above(lines, number),
                )
            )
    return found


def same_family(one: str, other: str) -> bool:
    """Return whether code in one language can use names of the other."""
    return one == other or (one in FAMILIES and FAMILIES.get(one) is FAMILIES.get(other))


def _kind(language: str, name: str, line: str) -> str | None:
    return next((kind for kind, pattern in _patterns(language, name).items() if pattern.match(line)), None)


@lru_cache(maxsize=64)
def _patterns(language: str, name: str) -> dict[str, re.Pattern[str]]:
    family = FAMILIES.get(language, {})
    return {
        kind: re.compile(r"\s*" + pattern.replace("NAME", re.escape(name)))
        for kind, pattern in family.items()
    }


def _signature(lines: list[str], start: int) -> str:
    """Return a definition without its body."""
    taken: list[str] = []
    for line in lines[start : start + _LONGEST_SIGNATURE]:
        taken.append(line.strip())
        if line.rstrip().endswith(("{", ";", ":", "=>", ",")) and line.count("(") == line.count(")"):
            break
        if taken and "".join(taken).count("(") == "".join(taken).count(")"):
            break
    return "\n".join(taken).rstrip("{ \t")


def _comment_above(lines: list[str], start: int) -> str:
    """Return the comment above a definition, without comment markers."""
    taken: list[str] = []
    for line in reversed(lines[max(start - _LONGEST_COMMENT, 0) : start]):
        sign = _COMMENT.match(line)
        if sign is None and not line.strip().startswith(("@", "#[")):
            break
        if sign is not None:
            taken.append(line[sign.end() :].rstrip().removesuffix("*/").rstrip())
    return "\n".join(reversed(taken)).strip()
