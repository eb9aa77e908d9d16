"""Parser of a tool call's `rawInput`: commands, paths and addresses, and whether all of it was understood.

Agents name their arguments as they like. A key that is not known here makes the input not understood, so that no
pattern allows the call, and every text under it is kept as one that may be a path or a command.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from portico.domain.command_line import command_line_of

MAX_PARTS = 1_000
_MAX_DEPTH = 16
_COMMANDS = frozenset({"command", "cmd"})
_ARGUMENTS = frozenset({"args", "argv"})
_FOLDERS = frozenset({"cwd", "workdir", "workingdir", "workingdirectory", "dir", "directory"})
_VARIABLES = frozenset({"env", "environment"})
_ADDRESSES = frozenset({"url", "urls"})
_PATHS = frozenset(
    {"path", "paths", "file", "files", "filename", "filepath", "filepaths", "abspath", "absolutepath"}
    | {"relativepath", "oldpath", "newpath", "movepath", "targetfile", "targetpath", "notebookpath", "uri"}
    | {"source", "destination", "target", "grantroot"}
)
_CONTAINERS = frozenset({"edits", "parsedcmd", "add", "update", "delete"})
_TEXTS = frozenset(
    {"content", "contents", "text", "filetext", "newcontent", "newcontents", "newfilecontents", "oldcontent"}
    | {"oldtext", "newtext", "oldstring", "newstring", "oldstr", "newstr", "oldsource", "newsource"}
)
_PATCHES = frozenset({"diff", "patch", "unifieddiff"})
_REMARKS = frozenset(
    {"description", "explanation", "reason", "justification", "intent", "intention", "instruction"}
    | {"callid", "turnid", "toolcallid", "approvalid", "type", "timeout", "timeoutms", "runinbackground"}
    | {
        "isbackground",
        "replaceall",
        "expectedreplacements",
        "line",
        "limit",
        "offset",
        "startline",
        "endline",
    }
    | {"insertline", "cellid", "celltype", "editmode"}
)
_SEARCHED = frozenset({"pattern", "query", "regex", "symbol"})
# What Codex would keep or offer if another option than "once" were chosen.
_OFFERS = frozenset({"proposedexecpolicyamendment", "availabledecisions"})
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:---|\+\+\+) |Index: |(?:rename|copy) (?:from|to) )"
    r"([^\t\r\n]+)",
    re.MULTILINE,
)
_GIT_HEADER = re.compile(r"^diff --git ", re.MULTILINE)


class ToolCommand(msgspec.Struct, frozen=True):
    """A command as one line, and as words if the tool takes a list of words."""

    text: str
    words: tuple[str, ...] = ()


class ToolInput(msgspec.Struct, kw_only=True):
    """The parts of a tool input that rules use. `texts` are those of unknown meaning."""

    commands: list[ToolCommand] = []
    paths: list[str] = []
    folders: list[Any] = []
    addresses: list[str] = []
    texts: list[str] = []
    has_variables: bool = False
    understood: bool = True
    is_too_large: bool = False


def read_tool_input(raw_input: Any, kind: str) -> ToolInput:
    found = ToolInput()
    if isinstance(raw_input, dict):
        _Reader(found, kind).read(raw_input, 0)
    elif raw_input and kind == "execute":
        _take_command(found, raw_input, [])
    elif raw_input:
        _leave_unread(found, raw_input)
    if len(found.paths) + len(found.texts) + len(found.commands) > MAX_PARTS:
        return ToolInput(understood=False, is_too_large=True)
    return found


class _Reader:
    def __init__(self, found: ToolInput, kind: str) -> None:
        self._found = found
        self._remarks = _REMARKS | (_SEARCHED if kind == "search" else frozenset())
        self._changes_text = kind == "edit"

    def read(self, fields: dict[Any, Any], depth: int) -> None:
        given = {key: value for key, value in fields.items() if _says_something(value)}
        plain = {_plain(key) for key in given}
        if depth > _MAX_DEPTH or len(plain) < len(given):
            _leave_unread(self._found, given)  # Two keys that read alike may mean two things.
            return
        arguments = [given[key] for key in given if _plain(key) in _ARGUMENTS]
        has_command = bool(_COMMANDS & plain)
        for key, value in given.items():
            name = _plain(key)
            if name in _COMMANDS:
                _take_command(self._found, value, arguments[0] if len(arguments) == 1 else arguments)
            elif name == "changes" and isinstance(value, dict):
                self._found.paths.extend(map(str, value))
                self._descend(list(value.values()), depth)
            elif name in _CONTAINERS:
                self._descend(value, depth)
            elif not (name in _ARGUMENTS and has_command) and not self._take(name, value):
                _leave_unread(self._found, {key: value})

    def _take(self, key: str, value: Any) -> bool:
        """Read a value without parts of its own; False if its meaning is not known."""
        texts = value if isinstance(value, list) else [value]
        are_texts = all(isinstance(text, str) for text in texts)
        if key in _FOLDERS:
            self._found.folders.append(value)
        elif key in _VARIABLES:
            self._found.has_variables = True
        elif key in _PATHS and are_texts:
            self._found.paths.extend(texts)
        elif key in _ADDRESSES and are_texts:
            self._found.addresses.extend(texts)
        elif (
            key in _PATCHES
            and self._changes_text
            and isinstance(value, str)
            and not _GIT_HEADER.search(value)
        ):
            self._found.paths.extend(path.strip() for path in _PATCHED.findall(value) if path != "/dev/null")
        elif key in _TEXTS:
            return self._changes_text and isinstance(value, str)
        else:
            return key in _OFFERS or (key in self._remarks and isinstance(value, str | int | float))
        return True

    def _descend(self, value: Any, depth: int) -> None:
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                self.read(part, depth + 1)
            elif _says_something(part):
                _leave_unread(self._found, part)


def _take_command(found: ToolInput, command: Any, args: Any) -> None:
    """Take a line, or words; a shell that is given one line for its words is that line."""
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not isinstance(args, list):
        _leave_unread(found, [command, args])
        return
    words = [*words, *args]
    if not all(isinstance(word, str) for word in words):
        _leave_unread(found, words)
    else:
        line = command_line_of(words)
        found.commands.append(
            ToolCommand(line, tuple(words) if line == " ".join(words) and words[1:] else ())
        )


def _leave_unread(found: ToolInput, value: Any) -> None:
    found.understood = False
    for text in _texts(value):
        found.texts.append(text)
        if len(found.texts) > MAX_PARTS:
            return


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, keys of maps among them."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left.extend((*one.keys(), *one.values()))
        elif isinstance(one, list):
            left.extend(one)


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value not in ("", [], {})


def _plain(key: Any) -> str:
    return str(key).replace("_", "").replace("-", "").casefold()
