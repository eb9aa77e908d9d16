"""Permission rules: their syntax, what each of them covers, and the policy made of them.

A rule is a tool kind, or `all`, and optionally a pattern: `read`, `edit:src/**`, `execute:pytest*`. The kind `tool`
is for tools of MCP servers, by their name: `tool:github__*`.
An agent's name in front keeps it to that agent: `claude/execute:npm test`. An allowance must cover
everything that a request is about; a denial need only touch something of it.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import get_args

import msgspec

from portico.acp import _schema as acp
from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.shell_commands import (
    ShellCommands,
    after_options,
    parse_shell_commands,
    program_name,
)
from portico.conductor.permissions.shell_syntax import ShellWord
from portico.domain.errors import InvalidInput
from portico.domain.protected_files import controlling_program

TOOL = "tool"
KINDS = (*get_args(acp.ToolKind), TOOL, "all")
# Kinds whose actions are neither commands nor files: rules match their title.
TITLED_KINDS = frozenset({"search", "think", "fetch", "switch_mode", "other"})
_FILE_KINDS = frozenset({"read", "edit", "delete", "move"})
_SHELL = re.compile(r"[;&|<>$`(){}\\\x00-\x08\x0a-\x1f\x7f]")
_WILD = re.compile(r"[*?[]")
_ESCAPED = re.compile(r"\[([*?[])\]")


class PermissionRule(msgspec.Struct, frozen=True):
    kind: str
    pattern: str | None = None
    agent: str | None = None

    @property
    def text(self) -> str:
        prefix = "" if self.agent is None else f"{self.agent}/"
        return prefix + self.unscoped

    @property
    def unscoped(self) -> str:
        """The rule without its agent."""
        return self.kind if self.pattern is None else f"{self.kind}:{self.pattern}"

    def covers(self, action: RequestedAction) -> bool:
        """Whether every part of the action falls under this rule."""
        if self.kind == TOOL:
            return self._covers_tool(action)
        if not self._speaks_of(action) or self._is_about_less(action):
            return False
        if self.pattern is None:
            return not action.is_protected
        if action.elsewhere or (action.commands and action.kind != "execute"):
            return False
        if action.kind == "execute":
            within = not any(map(action.is_rooted, action.paths)) and not action.addresses
            return bool(action.understood and within and action.commands) and all(
                self._covers_command(command.text) for command in action.commands
            )
        if action.kind in TITLED_KINDS and not action.is_protected and self._covers_title(action):
            return True
        known = action.understood and bool(action.paths) and not action.addresses
        return known and all(self._covers_path(path, action) for path in action.paths)

    def touches(self, action: RequestedAction) -> bool:
        """Whether any part of the action falls under this rule, or is not known."""
        if self.kind == TOOL:
            return action.tool.certain and self._names_tool(action)
        if self._speaks_of(action) and self.pattern is None:
            return True
        if self._speaks_of_commands(action):
            if action.kind == "execute" and not action.commands:
                return True
            if self.pattern is None or any(map(self._touches_line, _lines(action))):
                return True
        if not self._speaks_of(action) or action.kind == "execute":
            return False
        return not action.paths or self._touches_paths(action)

    def may_touch(self, action: RequestedAction) -> bool:
        """Whether some part of the action may fall under this rule."""
        if self.kind == TOOL:
            return self._names_tool(action)
        if self._speaks_of_commands(action) and any(map(self._may_touch_line, _lines(action))):
            return True
        is_unsorted = (
            action.kind == "other" and self.kind in _FILE_KINDS and self.agent in (None, action.agent)
        )
        return is_unsorted and (self._touches_paths(action) if self.pattern else bool(action.paths))

    def _speaks_of(self, action: RequestedAction) -> bool:
        return self.agent in (None, action.agent) and self.kind in ("all", action.kind)

    @property
    def is_literal(self) -> bool:
        """Whether its pattern matches one name only."""
        return self.pattern is not None and _literal(self.pattern) is not None

    def _covers_tool(self, action: RequestedAction) -> bool:
        """Whether the rule names the tool, which is allowed with any arguments: only its server knows their meaning."""
        if action.tool.known is None or self.agent not in (None, action.agent) or action.is_protected:
            return False
        return self.pattern is None or _matches(self.pattern, action.tool.known)

    def _names_tool(self, action: RequestedAction) -> bool:
        """Whether the rule matches one of the readings of the tool's name, ignoring case."""
        if self.agent not in (None, action.agent):
            return False
        pattern = None if self.pattern is None else self.pattern.casefold()
        return any(pattern is None or _matches(pattern, name.casefold()) for name in action.tool.readings)

    def _speaks_of_commands(self, action: RequestedAction) -> bool:
        """Whether the rule is about the commands of a request, whatever kind the agent declares."""
        is_run = action.kind == "execute" or bool(action.commands)
        return is_run and self.agent in (None, action.agent) and self.kind in ("all", "execute")

    def _is_about_less(self, action: RequestedAction) -> bool:
        """Whether a request contains a command although its kind runs none."""
        return bool(action.commands) and action.kind != "execute" and self.kind != "all"

    def _covers_title(self, action: RequestedAction) -> bool:
        """Whether the pattern is the action's title, and none of its arguments leads out of the workspace."""
        if (
            not action.title
            or _literal(self.pattern or "") != action.title
            or any(map(action.is_rooted, action.paths))
        ):
            return False
        return not any(action.is_rooted(text) for text in action.texts) and all(
            address in action.title for address in action.addresses
        )

    def _covers_command(self, command: str) -> bool:
        """A pattern never stretches over shell syntax: `pytest*` is not `pytest; rm -r .`."""
        pattern = self.pattern or ""
        if command in (pattern, _literal(pattern)):
            return True
        return not has_shell_syntax(command) and _matches_command(pattern, command)

    def _touches_line(self, line: str) -> bool:
        """Whether the rule matches a command anywhere in the line, by its program's name, whatever starts it."""
        pattern = self.pattern or ""
        if _matches_command(pattern, line):
            return True
        program, space, rest = pattern.partition(" ")
        named = program.casefold() + space + rest
        return any(
            _matches_command(pattern, _joined(words)) or _matches_command(named, _named(words))
            for words in _commands(line).commands
        )

    def _may_touch_line(self, line: str) -> bool:
        """Whether the rule may match once variables are expanded or options reordered, or part of it is hidden."""
        found = _commands(line)
        if self.pattern is None or found.hides:
            return found.hides
        program, space, rest = self.pattern.partition(" ")
        program = program_name(program)
        for words in found.commands:
            if not _matches(program, program_name(words[0].text)):
                continue
            if any(word.varies for word in words) or _matches_command(program + space + rest, _named(words)):
                return True
            for others in after_options(words[1:]):
                if _matches_command(program + space + rest, _named((words[0], *others))):
                    return True
        return False

    def _covers_path(self, path: str, action: RequestedAction) -> bool:
        """A relative pattern never leaves the workspace. `**` alone is meant for everywhere.

        A file that is protected from changes is covered by a pattern that names it, or a folder of its kind.
        """
        pattern = self._path_pattern(action)
        if action.changes_files and controlling_program(path.split("/")) and not _names_protected(pattern):
            return False
        if action.is_rooted(pattern):
            return _matches(pattern, action.absolute(path))
        return (pattern == "**" or not action.is_rooted(path)) and _matches(pattern, path)

    def _touches_paths(self, action: RequestedAction) -> bool:
        return any(self._touches_path(path, action) for path in (*action.paths, *action.texts))

    def _touches_path(self, path: str, action: RequestedAction) -> bool:
        """A denial holds for all that is in a folder, and in whatever case a file system may take a name."""
        pattern = self._path_pattern(action).rstrip("/").casefold()
        names = (path, action.absolute(path))
        return any(_matches(pattern, place.casefold()) for name in names for place in _with_folders(name))

    def _path_pattern(self, action: RequestedAction) -> str:
        pattern = (self.pattern or "").removeprefix("./")
        return pattern.replace("\\", "/") if action.on_windows else pattern


class PermissionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The allow and deny rules of a session. `bypass` allows whatever nothing denies."""

    allow: tuple[PermissionRule, ...] = ()
    deny: tuple[PermissionRule, ...] = ()
    bypass: bool = False

    def denying_rule(self, action: RequestedAction) -> PermissionRule | None:
        return next((rule for rule in self.deny if rule.touches(action)), None)

    def possibly_denying_rule(self, action: RequestedAction) -> PermissionRule | None:
        """The first deny rule that may apply."""
        return next((rule for rule in self.deny if rule.may_touch(action)), None)


def find_covering_rule(rules: Iterable[PermissionRule], action: RequestedAction) -> PermissionRule | None:
    return next((rule for rule in rules if rule.covers(action)), None)


def parse_rule(text: str) -> PermissionRule:
    head, colon, pattern = text.partition(":")
    agent, slash, kind = head.rpartition("/")
    if kind not in KINDS or (colon and not pattern) or (slash and not agent):
        raise InvalidInput(
            f"{text!r} is not a permission rule.",
            suggestion=f"Write a kind ({', '.join(KINDS)}), or kind:pattern, as in edit:src/**, "
            "execute:pytest* or tool:server__name; an agent may stand in front, as in claude/edit",
        )
    return PermissionRule(kind, pattern or None, agent or None)


def escape_pattern(text: str) -> str:
    """A pattern that matches this text and no other."""
    return _WILD.sub(lambda found: f"[{found[0]}]", text)


def has_shell_syntax(command: str) -> bool:
    return _SHELL.search(command) is not None


def _lines(action: RequestedAction) -> Iterator[str]:
    """Every text that may be run, as a shell would take it."""
    for command in action.commands:
        yield command.text
        if command.words:
            yield shlex.join(command.words)
    yield from action.texts


@lru_cache(maxsize=64)
def _commands(line: str) -> ShellCommands:
    return parse_shell_commands(line)


def _joined(words: tuple[ShellWord, ...]) -> str:
    return " ".join(word.text for word in words)


def _named(words: tuple[ShellWord, ...]) -> str:
    """A command by its program's name alone."""
    return " ".join((program_name(words[0].text), *(word.text for word in words[1:])))


def _literal(pattern: str) -> str | None:
    """The one text that a pattern without wildcards stands for."""
    return None if _WILD.search(_ESCAPED.sub("", pattern)) else _ESCAPED.sub(r"\1", pattern)


def _names_protected(pattern: str) -> bool:
    named = [part for part in pattern.split("/") if _literal(part) is not None]
    return controlling_program([_ESCAPED.sub(r"\1", part) for part in named]) is not None


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
