"""Which rule to offer when a person wants to allow more than this one time.

The offer is narrow: exactly this command, exactly this file. Only for tools of everyday work, whose
arguments change what they look at more than what they do, is it the beginning of the command.
"""

import posixpath

from portico.conductor.deeds import Deed
from portico.conductor.policy import TITLED_KINDS, Rule, escaped, has_shell_syntax

_LONGEST = 500
_WHOLE_TOOLS = frozenset(
    "pytest ruff mypy pyright black isort flake8 tox nox eslint prettier tsc jest vitest mocha phpunit rspec "
    "rubocop ctest".split()
)
_TOOLS_WITH_COMMANDS = frozenset(
    "git npm pnpm yarn cargo go make just uv poetry hatch dotnet mvn gradle mix bundle rake deno bun".split()
)
_EVERYDAY_COMMANDS = frozenset(
    "test tests build check lint fmt format typecheck compile bench doc docs vet clippy status diff log show".split()
)


def suggested_rule(deed: Deed) -> Rule | None:
    """A rule that covers the deed; None where there is none that a person could judge."""
    pattern = _pattern(deed)
    if pattern is None or len(pattern) > _LONGEST:
        return None
    rule = Rule(deed.kind, pattern)
    return rule if rule.covers(deed) else None


def _pattern(deed: Deed) -> str | None:
    if deed.kind == "execute":
        return None if deed.command is None else _for_command(deed.command)
    if deed.paths:
        return _for_paths(deed)
    return escaped(deed.title) if deed.kind in TITLED_KINDS and deed.title else None


def _for_command(command: str) -> str:
    words = command.split()
    if not words or has_shell_syntax(command):
        return escaped(command)
    beginning = words[0] if words[0] in _WHOLE_TOOLS else " ".join(words[:2])
    everyday = words[0] in _WHOLE_TOOLS or (
        words[0] in _TOOLS_WITH_COMMANDS and len(words) > 1 and words[1] in _EVERYDAY_COMMANDS
    )
    return f"{beginning}*" if everyday and command.startswith(beginning) else escaped(command)


def _for_paths(deed: Deed) -> str | None:
    if len(deed.paths) == 1:
        return escaped(deed.paths[0])
    if any(map(deed.is_rooted, deed.paths)):
        return None
    folder = posixpath.commonpath(deed.paths)
    return f"{escaped(folder)}/**" if folder and folder != "." else None
