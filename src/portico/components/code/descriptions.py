"""Text descriptions of lookup results for a model, bounded in length."""

from collections.abc import Iterable

from portico.components.code.session_paths import SessionPaths
from portico.domain.windows import CodeLocation, CodeLookupResult, CodeProblem

MOST_PLACES = 100
MOST_PROBLEMS = 200
MOST_BYTES = 20 * 1024
LONGEST_LINE = 300
_NOT_YOURS = (
    "These are the files as the person has them open. What you have changed in this session is not in them yet, "
    "so lines may have moved."
)


def describe_places(found: CodeLookupResult, ground: SessionPaths, *, nothing: str) -> str:
    """Places, one on each line."""
    places = [one for one in found.places if not ground.hides(one.path)]
    lines = [_place(one, ground) for one in places[:MOST_PLACES]]
    return _bounded(lines, len(places), ground) if places else nothing


def describe_problems(found: CodeLookupResult, ground: SessionPaths) -> str:
    problems = [one for one in found.problems if not ground.hides(one.path)]
    if not problems:
        return "The editor knows of no problems there. It checks only files and languages that it has support for."
    lines = [_problem(one, ground) for one in problems[:MOST_PROBLEMS]]
    return _bounded(lines, len(problems), ground)


def describe_hover(found: CodeLookupResult) -> str:
    words = found.words.strip()
    if not words:
        return "The editor knows nothing about that name."
    data = words.encode()
    if len(data) <= MOST_BYTES:
        return words
    return data[:MOST_BYTES].decode(errors="ignore") + "\n… (the rest is left out)"


def _place(one: CodeLocation, ground: SessionPaths) -> str:
    facts = " ".join(filter(None, (one.name, one.detail)))
    text = one.text.strip()
    parts = [f"{ground.shown(one.path)}:{one.line + 1}:{one.column + 1}"]
    parts += [fact for fact in (facts, text) if fact]
    return _line("  ".join(parts))


def _problem(one: CodeProblem, ground: SessionPaths) -> str:
    source = f" [{one.source}]" if one.source else ""
    return _line(
        f"{ground.shown(one.path)}:{one.line + 1}:{one.column + 1}  {one.severity}{source}  {one.message}"
    )


def _line(text: str) -> str:
    plain = " ".join(text.split("\n"))
    return plain if len(plain) <= LONGEST_LINE else f"{plain[: LONGEST_LINE - 1]}…"


def _bounded(lines: Iterable[str], total: int, ground: SessionPaths) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > MOST_BYTES:
            break
        kept.append(line)
    if total > len(kept):
        kept.append(f"… and {total - len(kept)} more; ask about something narrower to see them.")
    if ground.apart:
        kept.append(_NOT_YOURS)
    return "\n".join(kept)
