"""Which rule to offer when a person wants to allow more than this one time.

The offer is narrow: exactly this command, exactly this file. Only for tools of everyday work, whose
arguments change what they look at more than what they do, is it the beginning of the command.
"""

import posixpath
import re
from collections.abc import Iterator

from portico.conductor.deeds import Deed
from portico.conductor.policy import TITLED_KINDS, Rule, escaped, has_shell_syntax

_LONGEST = 500
_TOOLS = "pytest|ruff|mypy|pyright|tox|nox|eslint|prettier|tsc|jest|vitest|phpunit|rspec|rubocop|ctest"
_TOOLS_WITH_COMMANDS = "git|npm|pnpm|yarn|cargo|go|make|just|uv|poetry|hatch|dotnet|mvn|gradle|mix|deno|bun"
_COMMANDS = "test|build|check|lint|fmt|format|typecheck|compile|bench|vet|clippy|status|diff|log|show"
_EVERYDAY = re.compile(rf"(?:(?:{_TOOLS})|(?:{_TOOLS_WITH_COMMANDS}) (?:{_COMMANDS}))(?= |$)")


def suggested_rule(deed: Deed) -> Rule | None:
    """A rule that covers the deed; None where there is none that a person could judge."""
    for pattern in _patterns(deed):
        rule = Rule(deed.kind, pattern)
        if len(pattern) <= _LONGEST and rule.covers(deed):
            return rule
    return None


def _patterns(deed: Deed) -> Iterator[str]:
    if deed.kind == "execute":
        if len({command.text for command in deed.commands}) == 1:
            yield _for_command(deed.commands[0].text)
        return
    if deed.kind in TITLED_KINDS and deed.title:
        yield escaped(deed.title)
    if deed.paths and (pattern := _for_paths(deed)) is not None:
        yield pattern


def _for_command(command: str) -> str:
    everyday = None if has_shell_syntax(command) else _EVERYDAY.match(command)
    return escaped(command) if everyday is None else f"{everyday[0]} *"


def _for_paths(deed: Deed) -> str | None:
    if len(deed.paths) == 1:
        return escaped(deed.paths[0])
    if any(map(deed.is_rooted, deed.paths)):
        return None
    folder = posixpath.commonpath(deed.paths)
    return f"{escaped(folder)}/**" if folder and folder != "." else None
