"""What an agent asks leave for, in the terms that rules speak of: a kind, a command line, paths.

Everything here was said by the agent. What it said in a way that cannot be understood counts as
unknown: no rule with a pattern allows it, and every denial of its kind meets it.
"""

import ntpath
import os
import posixpath
import re
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from portico.acp import _schema as acp

# Following links takes time; what is about more files than this is about nobody knows what.
MAX_PATHS = 1_000
_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_COMMAND_KEYS = ("command", "cmd")
_PATH_KEYS = frozenset(
    {"path", "file", "filename", "filepath", "abspath", "absolutepath", "oldpath", "newpath"}
    | {"targetfile", "notebookpath", "source", "destination", "uri"}
)
_EXPANDED = ("~", "$", "%")
_FOLDER_KEYS = frozenset({"cwd", "workdir", "workingdir", "workingdirectory", "dir", "directory"})
_VARIABLE_KEYS = frozenset({"env", "environment"})
# What may be told of a command besides what it does.
_REMARK_KEYS = _FOLDER_KEYS | _VARIABLE_KEYS | {"description", "explanation", "timeout", "timeoutms"}


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """`paths` has every name of every file: as it was given, and where it leads once links are followed.

    A name inside the workspace, or the folder that stands for it, is relative to it, and any other is absolute.
    """

    agent: str
    workspace: str
    kind: str
    title: str
    command: str | None = None
    elsewhere: bool = False
    """Whether a command is to run outside the workspace, or with variables of its own: no pattern speaks of that."""
    paths: tuple[str, ...] = ()
    approved_as: str = ""
    """Whose approvals count, where the name of an agent does not say which program it is."""
    in_own_folder: bool = False
    """Whether it is about files of a folder that only stands for the workspace, and about nothing else."""

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


def deed_of(call: acp.ToolCallUpdate, *, agent: str, workspace: str, folder: str | None = None) -> Deed:
    """What a permission request is about, once its tool call is completed by what was told before.

    An agent may work in a `folder` that stands for the workspace. Then a file of the workspace itself has both
    its names: what is denied stays denied there, and what is allowed in the folder is not allowed there.
    """
    paths = _names(call, folder or workspace)
    in_own_folder = False
    if folder is not None:
        in_own_folder = _is_about_files_in(folder, call, paths)
        own = (name for name in _names(call, workspace) if not _is_rooted(name, workspace))
        paths = tuple(dict.fromkeys((*paths, *own)))
    kind, title = call.kind or "other", call.title or call.name or ""
    return Deed(
        agent=agent,
        workspace=workspace,
        kind=kind,
        title=title,
        command=_command_line(call.raw_input, title) if kind == "execute" else None,
        elsewhere=kind == "execute" and _is_elsewhere(call.raw_input, folder or workspace),
        paths=paths,
        in_own_folder=in_own_folder,
    )


def _is_about_files_in(folder: str, call: acp.ToolCallUpdate, names: tuple[str, ...]) -> bool:
    """Whether all that a call tells is files in a folder: no command, no name that a shell would make another of.

    What belongs to git there is no file to look at, since no review shows it.
    """
    told = call.raw_input if isinstance(call.raw_input, dict) else {}
    if not names or any(told.get(key) for key in _COMMAND_KEYS):
        return False
    also = [
        value for key, value in told.items() if _plain(key) in _PATH_KEYS and isinstance(value, str) and value
    ]
    given = [*(location.path for location in call.locations or ()), *also]
    if any(path.startswith(_EXPANDED) for path in given):
        return False
    own = (*names, *(name for path in also for name in _both_names(folder, path)))
    return not any(_is_rooted(name, folder) or ".git" in name.casefold().split("/") for name in own)


def _is_windows(workspace: str) -> bool:
    return _WINDOWS.match(workspace) is not None


def _is_rooted(name: str, workspace: str) -> bool:
    if name.startswith("/") or _ADDRESS.match(name):
        return True
    return _is_windows(workspace) and _WINDOWS.match(name) is not None


def _command_line(raw_input: Any, title: str) -> str | None:
    """The command as the tool gets it, else as the agent shows it; None if it is not to be understood."""
    if isinstance(raw_input, dict):
        for key in _COMMAND_KEYS:
            if raw_input.get(key):
                return _joined(raw_input[key], raw_input.get("args"))
        if any(value for key, value in raw_input.items() if _plain(key) not in _REMARK_KEYS):
            return None
    elif raw_input:
        return _joined(raw_input, None)
    return title.strip().strip("`") or None


def _is_elsewhere(raw_input: Any, workspace: str) -> bool:
    told = raw_input if isinstance(raw_input, dict) else {}
    if any(value for key, value in told.items() if _plain(key) in _VARIABLE_KEYS):
        return True
    folders = [value for key, value in told.items() if value and _plain(key) in _FOLDER_KEYS]
    return any(
        not isinstance(folder, str)
        or folder.startswith(_EXPANDED)
        or _is_rooted(_real(workspace, folder) or _seen_from(workspace, folder), workspace)
        for folder in folders
    )


def _plain(key: Any) -> str:
    return str(key).replace("_", "").casefold()


def _joined(command: Any, args: Any) -> str | None:
    words = [command] if isinstance(command, str) else command
    rest = [] if args is None else args
    if not isinstance(words, list) or not isinstance(rest, list):
        return None
    if not all(isinstance(word, str) for word in (*words, *rest)):
        return None
    return " ".join((*words, *rest))


def _names(call: acp.ToolCallUpdate, workspace: str) -> tuple[str, ...]:
    given = [location.path for location in call.locations or ()]
    given += [part.path for part in call.content or () if isinstance(part, acp.Diff)]
    names: dict[str, None] = {}
    if len(given) > MAX_PATHS:
        return ()
    for path in given:
        names |= dict.fromkeys(_both_names(workspace, path))
    return tuple(names)


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
