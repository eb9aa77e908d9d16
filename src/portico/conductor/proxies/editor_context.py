"""Proxy that adds the editor's active file, selection, open files and problems to each prompt.

The editor writes its state to a file. What is outside the session's folders stays unsaid, and of a
file that may hold secrets only the name is included. A command is passed on unchanged.
"""

import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from portico.conductor.prompt_message import PromptMessage
from portico.conductor.proxies.editor_state import EditorSelection, EditorState, read_editor_state
from portico.conductor.session_folders import SessionFolders, SessionFoldersProxy
from portico.domain.secret_files import is_private
from portico.rpc.messages import Message

STATE_VARIABLE = "PORTICO_EDITOR_STATE_FILE"
MAX_SELECTION = 8_000
MAX_OPEN_FILES = 20
MAX_DIAGNOSTICS = 20
_MOST_LOOKED_AT = 200
_LONGEST_LINE = 300
_NOT_IN_A_LANGUAGE = re.compile(r"[^\w+#.-]")
_CLOSING_TAG = re.compile(r"</(?=\s*editor-context)", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}")


class EditorContext(SessionFoldersProxy):
    name = "editor-context"
    client_methods = SessionFoldersProxy.client_methods | {"session/prompt"}

    def __init__(self, state_file: Path, now: Callable[[], float]) -> None:
        """`now` is the time of the clock on the wall, in seconds since 1970."""
        super().__init__()
        self._state_file = state_file
        self._now = now

    def from_client(self, message: Message) -> None:
        if message.method == "session/prompt":
            self.node.send_right(self._with_context(message))
        else:
            super().from_client(message)

    def _with_context(self, message: Message) -> Message:
        asked = PromptMessage.read(message)
        if asked is None or asked.session_id not in self.folders or asked.command is not None:
            return message
        state = read_editor_state(self._state_file, self._now())
        text = None if state is None else describe(state, self.folders[asked.session_id])
        return message if text is None else asked.with_context(text)


def describe(state: EditorState, folders: SessionFolders) -> str | None:
    """The context as the agent reads it; None if the active file is no business of the session."""
    view = _View(folders)
    active = view.name(state.active_file)
    if active is None:
        return None
    private = view.is_private(state.active_file)
    language = _NOT_IN_A_LANGUAGE.sub("", state.language_id or "")[:40]
    lines = [f"Active file: {active} ({language})" if language else f"Active file: {active}"]
    if state.selection is not None and state.selection.text.strip() and not private:
        lines += _selection(state.selection, language)
    lines += _bounded("Open files:", _open_files(state, view), MAX_OPEN_FILES)
    lines += _bounded("Diagnostics:", _diagnostics(state, view), MAX_DIAGNOSTICS)
    return "\n".join(("<editor-context>", *lines, "</editor-context>"))


class _View:
    """The files that a session may learn about, and their names there."""

    def __init__(self, folders: SessionFolders) -> None:
        self._folders = [os.path.realpath(folder) for folder in (folders.workspace, *folders.additional)]

    def name(self, path: str) -> str | None:
        """The name relative to the session's folder; None outside all its folders, links followed."""
        real = self._real(path)
        for place, folder in enumerate(self._folders):
            if real is not None and real.is_relative_to(folder):
                return _line(str(real if place else real.relative_to(folder)))
        return None

    def is_private(self, path: str) -> bool:
        real = self._real(path)
        return real is None or is_private(real.parts) or is_private(Path(path).parts)

    def _real(self, path: str) -> Path | None:
        try:
            return Path(os.path.realpath(Path(self._folders[0]) / path))
        except (OSError, ValueError):
            return None


def _selection(selection: EditorSelection, language: str) -> Iterator[str]:
    """The text in a fence that is longer than any inside it."""
    text = selection.text[:MAX_SELECTION]
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield f"Selected text{_lines_of(selection)}:"
    yield fence + language
    yield _harmless(text)
    yield fence
    if len(selection.text) > MAX_SELECTION:
        yield f"(cut: the first {MAX_SELECTION} of {len(selection.text)} characters)"


def _lines_of(selection: EditorSelection) -> str:
    first, last = selection.start_line, selection.end_line
    if first is None:
        return ""
    return f" (line {first})" if last in (None, first) else f" (lines {first}-{last})"


def _open_files(state: EditorState, view: _View) -> Iterator[str]:
    active = view.name(state.active_file)
    for path in dict.fromkeys(state.open_files[:_MOST_LOOKED_AT]):
        name = view.name(path)
        if name is not None and name != active:
            yield f"- {name}"


def _diagnostics(state: EditorState, view: _View) -> Iterator[str]:
    for one in state.diagnostics[:_MOST_LOOKED_AT]:
        path = one.path or state.active_file
        name = view.name(path)
        if name is not None and not view.is_private(path):
            place = name if one.line is None else f"{name}:{one.line}"
            severity = f" {_line(one.severity)}:" if one.severity else ""
            yield f"- {place}{severity} {_line(one.message)}"


def _bounded(heading: str, entries: Iterator[str], most: int) -> Iterator[str]:
    shown = list(islice(entries, most))
    if shown:
        yield heading
        yield from shown
    if next(entries, None) is not None:
        yield "- and more"


def _line(text: str) -> str:
    """A text from outside on one line of bounded length."""
    one = _harmless("".join(letter if letter.isprintable() else " " for letter in text))
    return one if len(one) <= _LONGEST_LINE else f"{one[: _LONGEST_LINE - 1]}…"


def _harmless(text: str) -> str:
    """The text with everything escaped that could end the block."""
    return _CLOSING_TAG.sub(r"<\\/", text)
