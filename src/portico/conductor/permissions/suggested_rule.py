"""The narrow rule that is suggested when a person wants to allow more than this one request.

It covers exactly this command, exactly this file or exactly this tool of an MCP server, unless the tool is given a
command. Only for common development tools, whose arguments change
what they look at more than what they do, it covers any arguments.
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


def suggested_rule(action: RequestedAction) -> PermissionRule | None:
    """A rule that covers the action; None if there is none that a person could judge."""
    if action.tool.known is not None and not action.acts:
        return PermissionRule(TOOL, action.tool.known)
    for pattern in _patterns(action):
        rule = PermissionRule(action.kind, pattern)
        if len(pattern) <= _LONGEST and rule.covers(action):
            return rule
    return None


def wider_rule(action: RequestedAction) -> PermissionRule | None:
    """The rule for all actions of this kind in the workspace, or for all tools of the server; None if it covers less."""
    if action.tool.known is not None and not action.acts:
        rule = PermissionRule(TOOL, f"{action.tool.known.partition('__')[0]}__*")
    else:
        rule = PermissionRule(action.kind, None if action.kind in TITLED_KINDS else "*")
    return rule if rule.covers(action) else None


def _patterns(action: RequestedAction) -> Iterator[str]:
    if action.kind == "execute":
        if len({command.text for command in action.commands}) == 1:
            yield _for_command(action.commands[0].text)
        return
    if action.kind in TITLED_KINDS and action.title:
        yield escape_pattern(action.title)
    if action.paths and (pattern := _for_paths(action)) is not None:
        yield pattern


def _for_command(command: str) -> str:
    everyday = None if has_shell_syntax(command) else _EVERYDAY.match(command)
    return escape_pattern(command) if everyday is None else f"{everyday[0]} *"


def _for_paths(action: RequestedAction) -> str | None:
    if len(action.paths) == 1:
        return escape_pattern(action.paths[0])
    if any(map(action.is_rooted, action.paths)):
        return None
    folder = posixpath.commonpath(action.paths)
    return f"{escape_pattern(folder)}/**" if folder and folder != "." else None
