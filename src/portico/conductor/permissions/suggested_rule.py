"""The narrow rule that is suggested when a person wants to allow more than this one request.

The offer is narrow: exactly this command, exactly this file. Only for tools of everyday work, whose
arguments change what they look at more than what they do, is it the beginning of the command.
"""

import posixpath
import re
from collections.abc import Iterator

from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.policy import (
    TITLED_KINDS,
    TOOL,
    PermissionRule,
    escape_pattern,
    has_shell_syntax,
)

_LONGEST = 500
_TOOLS = "pytest|ruff|mypy|pyright|tox|nox|eslint|prettier|tsc|jest|vitest|phpunit|rspec|rubocop|ctest"
_TOOLS_WITH_COMMANDS = "git|npm|pnpm|yarn|cargo|go|make|just|uv|poetry|hatch|dotnet|mvn|gradle|mix|deno|bun"
_COMMANDS = "test|build|check|lint|fmt|format|typecheck|compile|bench|vet|clippy|status|diff|log|show"
_EVERYDAY = re.compile(rf"(?:(?:{_TOOLS})|(?:{_TOOLS_WITH_COMMANDS}) (?:{_COMMANDS}))(?= |$)")


def suggested_rule(deed: RequestedAction) -> PermissionRule | None:
    """A rule that covers the deed; None where there is none that a person could judge."""
    if deed.tool.known is not None:
        rule = PermissionRule(TOOL, deed.tool.known)
        return rule if rule.covers(deed) else None
    for pattern in _patterns(deed):
        rule = PermissionRule(deed.kind, pattern)
        if len(pattern) <= _LONGEST and rule.covers(deed):
            return rule
    return None


def _patterns(deed: RequestedAction) -> Iterator[str]:
    if deed.kind == "execute":
        if len({command.text for command in deed.commands}) == 1:
            yield _for_command(deed.commands[0].text)
        return
    if deed.kind in TITLED_KINDS and deed.title:
        yield escape_pattern(deed.title)
    if deed.paths and (pattern := _for_paths(deed)) is not None:
        yield pattern


def _for_command(command: str) -> str:
    everyday = None if has_shell_syntax(command) else _EVERYDAY.match(command)
    return escape_pattern(command) if everyday is None else f"{everyday[0]} *"


def _for_paths(deed: RequestedAction) -> str | None:
    if len(deed.paths) == 1:
        return escape_pattern(deed.paths[0])
    if any(map(deed.is_rooted, deed.paths)):
        return None
    folder = posixpath.commonpath(deed.paths)
    return f"{escape_pattern(folder)}/**" if folder and folder != "." else None
