"""The language of permission rules, and the rules that hold for a chain.

A rule is a tool kind, or `all`, and optionally a pattern: `read`, `edit:src/**`, `execute:pytest*`.
An agent's name in front keeps it to that agent: `claude/execute:npm test`. An allowance must cover
everything that a request is about; a denial need only touch something of it.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import get_args

import msgspec

from portico.acp import _schema as acp
from portico.conductor.deeds import Deed
from portico.domain.errors import InvalidInput

KINDS = (*get_args(acp.ToolKind), "all")
# Whose deeds are neither commands nor files; they are known by their title alone.
TITLED_KINDS = frozenset({"search", "think", "fetch", "switch_mode", "other"})
_SHELL = re.compile(r"[;&|<>$`(){}\\\x00-\x08\x0a-\x1f\x7f]")
_WILD = re.compile(r"[*?[]")
_ESCAPED = re.compile(r"\[([*?[])\]")


class Rule(msgspec.Struct, frozen=True):
    kind: str
    pattern: str | None = None
    agent: str | None = None

    @property
    def text(self) -> str:
        prefix = "" if self.agent is None else f"{self.agent}/"
        return prefix + self.unscoped

    @property
    def unscoped(self) -> str:
        """As it is written when the agent is said elsewhere."""
        return self.kind if self.pattern is None else f"{self.kind}:{self.pattern}"

    def covers(self, deed: Deed) -> bool:
        """Whether everything that the deed is about falls under this rule."""
        if not self._speaks_of(deed):
            return False
        if self.pattern is None:
            return True
        if deed.kind == "execute":
            return deed.command is not None and not deed.elsewhere and self._covers_command(deed.command)
        if deed.paths:
            return all(self._covers_path(path, deed) for path in deed.paths)
        return deed.kind in TITLED_KINDS and bool(deed.title) and _literal(self.pattern) == deed.title

    def touches(self, deed: Deed) -> bool:
        """Whether anything that the deed is about may fall under this rule."""
        if not self._speaks_of(deed):
            return False
        if self.pattern is None:
            return True
        if deed.kind == "execute":
            return deed.command is None or _matches_command(self.pattern, deed.command)
        return not deed.paths or any(self._touches_path(path, deed) for path in deed.paths)

    def _speaks_of(self, deed: Deed) -> bool:
        return self.agent in (None, deed.agent) and self.kind in ("all", deed.kind)

    def _covers_command(self, command: str) -> bool:
        """A pattern never stretches over shell syntax: `pytest*` is not `pytest; rm -r .`."""
        pattern = self.pattern or ""
        if command in (pattern, _literal(pattern)):
            return True
        return not has_shell_syntax(command) and _matches_command(pattern, command)

    def _covers_path(self, path: str, deed: Deed) -> bool:
        """A relative pattern never leaves the workspace. `**` alone is meant for everywhere."""
        pattern = self._path_pattern(deed)
        if deed.is_rooted(pattern):
            return _matches(pattern, deed.absolute(path))
        return (pattern == "**" or not deed.is_rooted(path)) and _matches(pattern, path)

    def _touches_path(self, path: str, deed: Deed) -> bool:
        """A denial holds for all that is in a folder, and in whatever case a file system may take a name."""
        pattern = self._path_pattern(deed).rstrip("/").casefold()
        names = (path, deed.absolute(path))
        return any(_matches(pattern, place.casefold()) for name in names for place in _with_folders(name))

    def _path_pattern(self, deed: Deed) -> str:
        pattern = (self.pattern or "").removeprefix("./")
        return pattern.replace("\\", "/") if deed.on_windows else pattern


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided beforehand. `bypass` allows whatever nothing denies."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    bypass: bool = False

    def denying(self, deed: Deed) -> Rule | None:
        return next((rule for rule in self.deny if rule.touches(deed)), None)

    def allowing(self, deed: Deed) -> Rule | None:
        return covering(self.allow, deed)


def covering(rules: Iterable[Rule], deed: Deed) -> Rule | None:
    return next((rule for rule in rules if rule.covers(deed)), None)


def parse_rule(text: str) -> Rule:
    head, colon, pattern = text.partition(":")
    agent, slash, kind = head.rpartition("/")
    if kind not in KINDS or (colon and not pattern) or (slash and not agent):
        raise InvalidInput(
            f"{text!r} is not a permission rule.",
            suggestion=f"Write a kind ({', '.join(KINDS)}), or kind:pattern, as in edit:src/** or "
            "execute:pytest*; an agent may stand in front, as in claude/edit",
        )
    return Rule(kind, pattern or None, agent or None)


def escaped(text: str) -> str:
    """A pattern that matches this text and no other."""
    return _WILD.sub(lambda found: f"[{found[0]}]", text)


def has_shell_syntax(command: str) -> bool:
    return _SHELL.search(command) is not None


def _literal(pattern: str) -> str | None:
    """The one text that a pattern without wildcards stands for."""
    return None if _WILD.search(_ESCAPED.sub("", pattern)) else _ESCAPED.sub(r"\1", pattern)


def _matches(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern.replace("**", "*"))


def _matches_command(pattern: str, command: str) -> bool:
    """`git diff *` is `git diff` with any arguments and with none; it is not `git difftool`."""
    return _matches(pattern, command) or (pattern.endswith(" *") and _matches(pattern[:-2], command))


def _with_folders(path: str) -> Iterator[str]:
    yield path
    while (folder := path.rpartition("/")[0]) and folder != path:
        yield folder
        path = folder
