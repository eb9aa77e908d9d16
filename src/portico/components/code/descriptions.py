"""Text descriptions of lookup results for a model, bounded in length."""

from collections.abc import Iterable, Sequence

from portico.components.code.lookups import FoundCode
from portico.components.code.session_paths import SessionPaths
from portico.domain.windows import CodeAction, CodeFileEdit, CodeLocation, CodeLookupResult, CodeProblem

MOST_PLACES = 100
MOST_SYMBOLS = 400
MOST_PROBLEMS = 200
MOST_BYTES = 20 * 1024
LONGEST_LINE = 300
_NO_PROBLEMS = "There are no problems. Only files of languages with support are checked."
_NOT_YOURS = (
    "These are the files as the person has them open. What you have changed in this session is not in them yet, "
    "so lines may have moved."
)


def describe_places(found: FoundCode, paths: SessionPaths, *, nothing: str, most: int = MOST_PLACES) -> str:
    """Places, one on each line."""
    places = [one for one in found.result.places if not paths.hides(one.path)]
    left_out = max(found.result.total - len(found.result.places), 0)
    lines = [_place(one, paths) for one in places[:most]]
    return _bounded(lines or [nothing], max(len(places), 1) + left_out, found)


def describe_problems(found: FoundCode, paths: SessionPaths) -> str:
    problems = [one for one in found.result.problems if not paths.hides(one.path)]
    if not problems and found.result.note.startswith("Not known yet"):
        return found.result.note
    lines = [_problem(one, paths) for one in problems[:MOST_PROBLEMS]]
    return _bounded(lines or [_NO_PROBLEMS], max(len(problems), 1), found)


def describe_hover(found: FoundCode) -> str:
    words = found.result.words.strip()
    if not words:
        return " ".join(filter(None, ("Nothing is known about that name.", found.result.note)))
    data = words.encode()
    if len(data) <= MOST_BYTES:
        return words
    return data[:MOST_BYTES].decode(errors="ignore") + "\n… (the rest is left out)"


def describe_edits(edits: Sequence[CodeFileEdit], paths: SessionPaths) -> str:
    """Files that were changed, one on each line."""
    lines = [f"{paths.shown(edit.path)}: {edit.edits} changes" for edit in edits]
    return _bounded(["Changed:", *lines], len(lines) + 1, FoundCode(CodeLookupResult()))


def describe_actions(actions: Sequence[CodeAction]) -> str:
    if not actions:
        return "Nothing is offered for that line."
    lines = [_line(f"{one.title}{f'  ({one.kind})' if one.kind else ''}") for one in actions]
    return _bounded(lines, len(lines), FoundCode(CodeLookupResult()))


def _place(one: CodeLocation, paths: SessionPaths) -> str:
    facts = " ".join(filter(None, (one.name, one.detail)))
    text = one.text.strip()
    parts = [f"{paths.shown(one.path)}:{one.line + 1}:{one.column + 1}"]
    parts += [fact for fact in (facts, text) if fact]
    return _line("  ".join(parts))


def _problem(one: CodeProblem, paths: SessionPaths) -> str:
    source = f" [{one.source}]" if one.source else ""
    return _line(
        f"{paths.shown(one.path)}:{one.line + 1}:{one.column + 1}  {one.severity}{source}  {one.message}"
    )


def _line(text: str) -> str:
    plain = " ".join(text.split("\n"))
    return plain if len(plain) <= LONGEST_LINE else f"{plain[: LONGEST_LINE - 1]}…"


def _bounded(lines: Iterable[str], total: int, found: FoundCode) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > MOST_BYTES:
            break
        kept.append(line)
    if total > len(kept):
        kept.append(f"… and {total - len(kept)} more; ask about something narrower to see them.")
    if found.result.note:
        kept.append(found.result.note)
    if found.theirs:
        kept.append(_NOT_YOURS)
    return "\n".join(kept)
