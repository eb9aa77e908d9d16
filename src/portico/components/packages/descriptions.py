"""Answers of the package tools: text for a model, bounded in length."""

from collections import Counter
from collections.abc import Sequence

from portico.components.packages.library import PackageSource
from portico.components.packages.research.history import Findings
from portico.components.packages.text_search import PackageTextMatches
from portico.components.packages.tree import PackageFile

MOST_BYTES = 20 * 1024
MOST_MATCHES = 100
_LONGEST_LINE = 300
_MOST_FILES = 200
_OVERVIEW = 25


def describe_source(source: PackageSource, files: Sequence[PackageFile]) -> str:
    """A package: its version, where that and the files are from, and what is in it."""
    size = sum(one.size for one in files)
    verified = f", verified ({source.verified})" if source.verified else ", not verified by a checksum"
    if source.source.startswith("as installed"):
        verified = ""
    lines = [
        f"{heading(source)}, {source.version_origin}.",
        f"Sources: {source.source}{verified}. {len(files):,} files, {size:,} bytes.",
        *source.notes,
        "",
        *_overview(files, _OVERVIEW),
        "",
        "Search them with package_search and read them with package_read, with the same ecosystem, name and version.",
    ]
    return bounded(lines)


def describe_files(source: PackageSource, path: str, files: Sequence[PackageFile]) -> str:
    """Files below a folder; folders with their number of files, if there are too many."""
    inside = path.strip("/") if path not in ("", ".") else ""
    chosen = [one for one in files if not inside or one.path == inside or one.path.startswith(f"{inside}/")]
    if not chosen:
        return f"{heading(source)} has no files in {path}."
    lines = [f"{heading(source)}, {len(chosen):,} files" + (f" in {inside}:" if inside else ":")]
    if len(chosen) <= _MOST_FILES:
        return bounded([*lines, *(f"{one.path}  {one.size:,}" for one in chosen)])
    return bounded([*lines, *_overview(chosen, _MOST_FILES, inside), "Give path to see what is in a folder."])


def describe_matches(source: PackageSource, found: PackageTextMatches, query: str) -> str:
    """Matches, one on each line."""
    if not found.matches:
        late = " before the time for a search was over" if found.late else ""
        return f"{heading(source)} does not have “{query[:80]}” in its text files{late}."
    lines = [f"{heading(source)}, {len(found.matches)} matches:"]
    lines += [f"{one.path}:{one.line}: {_cut(one.text)}" for one in found.matches]
    if found.cut or found.late:
        lines.append("… there may be more; narrow the search with path, glob or a longer query.")
    return bounded(lines)


def describe_lines(source: PackageSource, path: str, text: str, first: int, count: int) -> str:
    """A range of lines with their numbers."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    chosen = lines[first - 1 : first - 1 + count]
    if not chosen:
        return f"{path} of {heading(source)} has {len(lines):,} lines; there is no line {first:,}."
    head = f"{path} of {heading(source)}, lines {first:,} to {first + len(chosen) - 1:,} of {len(lines):,}:"
    return bounded([head, *(f"{number}\t{_cut(line, 2000)}" for number, line in enumerate(chosen, first))])


def describe_findings(source: PackageSource, findings: Findings, *, known: bool) -> str:
    """The findings of research, with their origin."""
    when = "from earlier research" if known else f"researched in {findings.seconds:g} s"
    lines = [f"{heading(source)}, {when}:"]
    if not findings.returned:
        lines.append("(The research ended without returning findings; this is the end of its answer.)")
    return bounded([*lines, "", *findings.answer.split("\n")])


def heading(source: PackageSource) -> str:
    return f"{source.name} {source.version} ({source.name.ecosystem})"


def bounded(lines: Sequence[str]) -> str:
    """The lines that fit an answer, and how many do not."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode(errors="replace")) + 1
        if size > MOST_BYTES:
            return "\n".join(
                [*kept, f"… {len(lines) - len(kept):,} more lines are left out; ask for less at once."]
            )
        kept.append(line)
    return "\n".join(kept)


def _overview(files: Sequence[PackageFile], most: int, inside: str = "") -> list[str]:
    """Files and folders at the top, folders with their number of files."""
    start = len(inside) + 1 if inside else 0
    counts = Counter(one.path[start:].partition("/")[0] for one in files)
    folders = {one.path[start:].partition("/")[0] for one in files if "/" in one.path[start:]}
    lines = [
        f"{name}/  {count:,} files" if name in folders else name for name, count in sorted(counts.items())
    ]
    return lines if len(lines) <= most else [*lines[:most], f"… and {len(lines) - most:,} more"]


def _cut(text: str, most: int = _LONGEST_LINE) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
