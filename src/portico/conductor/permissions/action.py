"""The action that a permission request is about: its kind, commands, paths and addresses, normalised for
rules.

All of it comes from the agent. What cannot be understood counts as unknown: no rule with a pattern allows it,
and every deny rule of its kind applies to it.
"""

import ntpath
import os
import posixpath
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from portico.acp import _schema as acp
from portico.conductor.permissions.tool_input import ToolCommand, read_tool_input
from portico.conductor.permissions.tool_name import NO_TOOL, McpToolName, mcp_tool_name
from portico.domain.protected_files import controlling_program

# Following links takes time: a request with more paths than this counts as not understood.
MAX_PATHS = 1_000
_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LONGEST_PATH = 4_096
_CHANGES = frozenset({"edit", "delete", "move"})
_EXPANDED = ("~", "$", "%")


class RequestedAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action as rules see it.

    `paths` has two names of every file: as given, and with links followed. Names inside the workspace, or in the
    working copy that stands for it, are relative to it; all others are absolute.
    """

    agent: str
    workspace: str
    kind: str
    title: str
    tool: McpToolName = NO_TOOL
    """The MCP tool that is called, if it is one."""
    commands: tuple[ToolCommand, ...] = ()
    elsewhere: bool = False
    """Whether it happens in another folder than the workspace, or with variables of its own."""
    paths: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Texts under keys of unknown meaning: each may be a path or a command."""
    understood: bool = True
    """Whether every field of the request has a known meaning; if not, no pattern allows it."""
    approved_as: str = ""
    """The agent whose approvals count, if the agent's name does not say which program it is."""
    in_working_copy: bool = False
    """Whether it is only about files of a working copy."""
    stays_in_working_copy: bool = False
    """Whether all its files are in a working copy, git's own included, which are never written there."""
    has_diff: bool = False
    only_reads: bool = False
    """Whether a trusted tool declares that it only reads."""
    too_large: bool = False
    """Whether it names more than was examined."""

    @property
    def changes_files(self) -> bool:
        return self.kind in _CHANGES or self.has_diff

    @property
    def acts(self) -> bool:
        """Whether it changes a file or runs a command, whatever kind the agent declares."""
        return self.changes_files or self.kind == "execute" or bool(self.commands)

    @property
    def is_protected(self) -> bool:
        """Whether it changes a file that makes a program run something, or that grants something."""
        paths = (*self.paths, *self.texts)
        return self.changes_files and any(controlling_program(path.split("/")) for path in paths)

    @property
    def is_git_internal(self) -> bool:
        """Whether it is about files that belong to git itself, and about nothing else."""
        return bool(self.paths) and all(_is_gits_own(path) for path in self.paths)

    @property
    def leads_out(self) -> bool:
        """Whether it names a path outside the workspace, or an address."""
        return bool(self.addresses) or any(map(self.is_rooted, (*self.paths, *self.texts)))

    @property
    def on_windows(self) -> bool:
        return _is_windows(self.workspace)

    def is_rooted(self, name: str) -> bool:
        """Whether a name or pattern is absolute, not relative to the workspace."""
        return _is_rooted(name, self.workspace)

    def absolute(self, name: str) -> str:
        if self.is_rooted(name):
            return name
        root = self.workspace.replace("\\", "/") if self.on_windows else self.workspace
        return f"{root.rstrip('/')}/{name}"


def requested_action(
    call: acp.ToolCallUpdate, *, agent: str, workspace: str, folder: str | None = None
) -> RequestedAction:
    """The action that a completed tool call is about.

    An agent may work in a `folder` that stands for the workspace, a working copy. A file of the workspace itself
    then has both names: denials for the workspace hold there, and allowances for the folder do not.
    """
    kind, title = call.kind or "other", call.title or call.name or ""
    tool_input = read_tool_input(call.raw_input, kind)
    diffs = [part.path for part in call.content or () if isinstance(part, acp.Diff)]
    given = [*(location.path for location in call.locations or ()), *diffs, *tool_input.paths]
    is_readable = not tool_input.is_too_large and len(given) <= MAX_PATHS
    understood = (
        tool_input.understood and is_readable and not any(path.startswith(_EXPANDED) for path in given)
    )
    if kind == "execute":
        understood = understood and not diffs
        if understood and not tool_input.commands and (line := title.strip().strip("`")):
            tool_input.commands.append(ToolCommand(line))
    root = folder or workspace
    action = RequestedAction(
        agent=agent,
        workspace=workspace,
        kind=kind,
        title=title,
        tool=mcp_tool_name(call),
        commands=tuple(tool_input.commands) if is_readable else (),
        elsewhere=tool_input.has_variables
        or not all(_is_there(path, root, kind) for path in tool_input.folders),
        paths=_names(given, root) if is_readable else (),
        addresses=tuple(tool_input.addresses),
        texts=tuple(tool_input.texts) if kind == "execute" else _names(_path_like(tool_input.texts), root),
        understood=understood,
        has_diff=bool(diffs),
        too_large=not is_readable,
    )
    if folder is None:
        return action
    own = (name for name in _names(given, workspace) if is_readable and not _is_rooted(name, workspace))
    paths = tuple(dict.fromkeys((*action.paths, *own)))
    return msgspec.structs.replace(
        action,
        paths=paths,
        in_working_copy=_is_about_files_in(folder, action),
        stays_in_working_copy=bool(action.paths)
        and not any(_is_rooted(name, folder) for name in action.paths),
    )


def _is_about_files_in(folder: str, action: RequestedAction) -> bool:
    """Whether an action is only about files in a folder, none of them git's own, which no review shows."""
    if not action.understood or action.commands or action.addresses or action.elsewhere or not action.paths:
        return False
    return not any(_is_rooted(name, folder) or _is_gits_own(name) for name in action.paths)


def _is_gits_own(path: str) -> bool:
    return ".git" in path.casefold().split("/")


def _is_windows(workspace: str) -> bool:
    return _WINDOWS.match(workspace) is not None


def _is_rooted(name: str, workspace: str) -> bool:
    if name.startswith("/") or _ADDRESS.match(name):
        return True
    return _is_windows(workspace) and _WINDOWS.match(name) is not None


def _is_there(folder: Any, workspace: str, kind: str) -> bool:
    """Whether a working directory is the workspace or, for a command, a folder inside it."""
    if not isinstance(folder, str) or folder.startswith(_EXPANDED):
        return False
    place = _real(workspace, folder) or _seen_from(workspace, folder)
    return not _is_rooted(place, workspace) if kind == "execute" else place == "."


def _path_like(texts: Iterable[str]) -> Iterable[str]:
    return (text for text in texts if len(text) <= _LONGEST_PATH and "\n" not in text)


def _names(given: Iterable[str], workspace: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for path in given for name in _both_names(workspace, path)))


def _both_names(workspace: str, path: str) -> tuple[str, ...]:
    """A path as given, and with links followed."""
    real = _real(workspace, path)
    return (_seen_from(workspace, path),) if real is None else (_seen_from(workspace, path), real)


def _seen_from(workspace: str, path: str) -> str:
    """The path relative to the workspace if it is inside, else absolute. Follows no links."""
    path = _without_address(path)
    if _ADDRESS.match(path):
        return path
    root, place = _normal(workspace, workspace), _normal(workspace, path)
    shown_root, shown_place = root, place
    if _is_windows(workspace):
        shown_root, shown_place = root.casefold(), place.casefold()
    if shown_place == shown_root:
        return "."
    inside = shown_place.startswith(shown_root.rstrip("/") + "/")
    return place[len(root.rstrip("/")) + 1 :] if inside else place


def _real(workspace: str, path: str) -> str | None:
    """The same with links followed; None for paths of another machine."""
    path = _without_address(path)
    if _is_windows(workspace) != (os.name == "nt") or "\0" in path or _ADDRESS.match(path):
        return None
    root = os.path.realpath(workspace)
    return _seen_from(root, os.path.realpath(os.path.join(root, path)))  # noqa: PTH118 - text in, text out


def _without_address(path: str) -> str:
    """The path of a file: URI; other paths unchanged."""
    if not path.lower().startswith("file:/"):
        return path
    try:
        return unquote(urlsplit(path).path) or path
    except ValueError:
        return path


def _normal(workspace: str, path: str) -> str:
    """The absolute path, normalised, with forward slashes."""
    if _is_windows(workspace):
        return ntpath.normpath(ntpath.join(workspace, path)).replace("\\", "/")
    normal = posixpath.normpath(posixpath.join(workspace, path))
    return normal[1:] if normal.startswith("//") else normal
