"""The action that a permission request is about: its kind, commands, paths and addresses, normalised for
rules.

Everything here was said by the agent. What it said in a way that cannot be understood counts as
unknown: no rule with a pattern allows it, and every denial of its kind meets it.
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

# Following links takes time; what is about more files than this is about nobody knows what.
MAX_PATHS = 1_000
_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LONGEST_PATH = 4_096
_CHANGES = frozenset({"edit", "delete", "move"})
_EXPANDED = ("~", "$", "%")


class RequestedAction(msgspec.Struct, frozen=True, kw_only=True):
    """`paths` has every name of every file: as it was given, and where it leads once links are followed.

    A name inside the workspace, or the folder that stands for it, is relative to it, and any other is absolute.
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
    """What the request tells under keys of unknown meaning: each may be a path or a command."""
    understood: bool = True
    """Whether all that the request tells is known by its meaning; no pattern allows what is not."""
    approved_as: str = ""
    """Whose approvals count, where the name of an agent does not say which program it is."""
    in_working_copy: bool = False
    """Whether it is about files of a folder that only stands for the workspace, and about nothing else."""
    stays_in_working_copy: bool = False
    """Whether the files are in such a folder, git's own among them, which are never written there."""
    has_diff: bool = False
    only_reads: bool = False
    """Whether a tool says that it only reads, and its word counts."""
    too_large: bool = False
    """Whether it is about more than was looked at."""

    @property
    def changes_files(self) -> bool:
        return self.kind in _CHANGES or self.has_diff

    @property
    def acts(self) -> bool:
        """Whether it changes a file or runs a command, of whatever kind its agent says that it is."""
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
        """Whether a name, or a pattern for names, does not start from the workspace."""
        return _is_rooted(name, self.workspace)

    def absolute(self, name: str) -> str:
        if self.is_rooted(name):
            return name
        root = self.workspace.replace("\\", "/") if self.on_windows else self.workspace
        return f"{root.rstrip('/')}/{name}"


def requested_action(
    call: acp.ToolCallUpdate, *, agent: str, workspace: str, folder: str | None = None
) -> RequestedAction:
    """What a permission request is about, once its tool call is completed by what was told before.

    An agent may work in a `folder` that stands for the workspace. Then a file of the workspace itself has both
    its names: what is denied stays denied there, and what is allowed in the folder is not allowed there.
    """
    kind, title = call.kind or "other", call.title or call.name or ""
    told = read_tool_input(call.raw_input, kind)
    diffs = [part.path for part in call.content or () if isinstance(part, acp.Diff)]
    given = [*(location.path for location in call.locations or ()), *diffs, *told.paths]
    is_readable = not told.is_too_large and len(given) <= MAX_PATHS
    understood = told.understood and is_readable and not any(path.startswith(_EXPANDED) for path in given)
    if kind == "execute":
        understood = understood and not diffs
        if understood and not told.commands and (line := title.strip().strip("`")):
            told.commands.append(ToolCommand(line))
    root = folder or workspace
    deed = RequestedAction(
        agent=agent,
        workspace=workspace,
        kind=kind,
        title=title,
        tool=mcp_tool_name(call),
        commands=tuple(told.commands) if is_readable else (),
        elsewhere=told.has_variables or not all(_is_there(path, root, kind) for path in told.folders),
        paths=_names(given, root) if is_readable else (),
        addresses=tuple(told.addresses),
        texts=tuple(told.texts) if kind == "execute" else _names(_path_like(told.texts), root),
        understood=understood,
        has_diff=bool(diffs),
        too_large=not is_readable,
    )
    if folder is None:
        return deed
    own = (name for name in _names(given, workspace) if is_readable and not _is_rooted(name, workspace))
    paths = tuple(dict.fromkeys((*deed.paths, *own)))
    return msgspec.structs.replace(
        deed,
        paths=paths,
        in_working_copy=_is_about_files_in(folder, deed),
        stays_in_working_copy=bool(deed.paths) and not any(_is_rooted(name, folder) for name in deed.paths),
    )


def _is_about_files_in(folder: str, deed: RequestedAction) -> bool:
    """Whether a deed is about files in a folder and nothing else, and not about git's own, which no review shows."""
    if not deed.understood or deed.commands or deed.addresses or deed.elsewhere or not deed.paths:
        return False
    return not any(_is_rooted(name, folder) or _is_gits_own(name) for name in deed.paths)


def _is_gits_own(path: str) -> bool:
    return ".git" in path.casefold().split("/")


def _is_windows(workspace: str) -> bool:
    return _WINDOWS.match(workspace) is not None


def _is_rooted(name: str, workspace: str) -> bool:
    if name.startswith("/") or _ADDRESS.match(name):
        return True
    return _is_windows(workspace) and _WINDOWS.match(name) is not None


def _is_there(folder: Any, workspace: str, kind: str) -> bool:
    """Whether a folder to work in is the workspace, or, for a command, one inside it."""
    if not isinstance(folder, str) or folder.startswith(_EXPANDED):
        return False
    place = _real(workspace, folder) or _seen_from(workspace, folder)
    return not _is_rooted(place, workspace) if kind == "execute" else place == "."


def _path_like(texts: Iterable[str]) -> Iterable[str]:
    return (text for text in texts if len(text) <= _LONGEST_PATH and "\n" not in text)


def _names(given: Iterable[str], workspace: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for path in given for name in _both_names(workspace, path)))


def _both_names(workspace: str, path: str) -> tuple[str, ...]:
    """A path as it was given, and where it leads once links are followed."""
    real = _real(workspace, path)
    return (_seen_from(workspace, path),) if real is None else (_seen_from(workspace, path), real)


def _seen_from(workspace: str, path: str) -> str:
    """The path relative to the workspace if it is inside, else absolute. Pure: no link is followed."""
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
    """The same once links are followed; None for paths of another machine."""
    path = _without_address(path)
    if _is_windows(workspace) != (os.name == "nt") or "\0" in path or _ADDRESS.match(path):
        return None
    root = os.path.realpath(workspace)
    return _seen_from(root, os.path.realpath(os.path.join(root, path)))  # noqa: PTH118 - text in, text out


def _without_address(path: str) -> str:
    """A file's address as its path."""
    if not path.lower().startswith("file:/"):
        return path
    try:
        return unquote(urlsplit(path).path) or path
    except ValueError:
        return path


def _normal(workspace: str, path: str) -> str:
    """The absolute path, without detours and with plain slashes."""
    if _is_windows(workspace):
        return ntpath.normpath(ntpath.join(workspace, path)).replace("\\", "/")
    normal = posixpath.normpath(posixpath.join(workspace, path))
    return normal[1:] if normal.startswith("//") else normal
