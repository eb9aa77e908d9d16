"""Editable input line of a chat, with history, completion and key bindings.

Enter sends; Alt-Enter, a backslash at the end of a line, or pasted text make a prompt of several
lines. Ctrl-C clears the line; pressed twice on an empty line it exits, as does Ctrl-D. Ctrl-Z suspends
to the shell. The blanks of a prompt must be filled in or deleted before it is sent: Tab and Enter go
to the next one.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import (
    ConditionalKeyBindings,
    KeyBindings,
    KeyBindingsBase,
    KeyPressEvent,
    merge_key_bindings,
)
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from portico.doors.terminal.input.chat_status import ChatStatus
from portico.doors.terminal.input.completion import ChatCompleter, is_completable
from portico.doors.terminal.input.keyboard import line_keys, replace_surrogates
from portico.doors.terminal.input.prompt_blanks import BlankSpan, BlankTracker, ChatPrompt
from portico.doors.terminal.input.workspace_files import WorkspaceFiles
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import Signs, signs_for
from portico.files.private import make_private_folder

_TWICE_SECONDS = 2.0
_EXIT_HINT = "Press Ctrl-C again or Ctrl-D to exit"
_STYLE = Style.from_dict(
    {
        "sign": "ansicyan bold",
        "more": "ansibrightblack",
        "bottom-toolbar": "noreverse ansibrightblack",
        "completion-menu": "bg:default fg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "noreverse bg:default fg:ansicyan bold",
        "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
        "completion-menu.meta.completion.current": "bg:default fg:ansicyan",
        "completion-menu.multi-column-meta": "bg:default fg:ansibrightblack",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "bg:ansibrightblack",
    }
)


class ChatLine:
    """Reads prompts with `prompt_toolkit`; `status` is asked each time the toolbar is drawn."""

    def __init__(
        self,
        status: Callable[[], ChatStatus],
        prompts: Callable[[], Iterable[ChatPrompt]],
        *,
        history: Path,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._status = status
        self._prompts = prompts
        self._blanks = BlankTracker()
        self._clock = clock
        self._interrupted_at = float("-inf")
        self._begun = ""
        self._completer = ChatCompleter(status, WorkspaceFiles(Path(status().workspace)), self._offered)
        self._session: PromptSession[str] = PromptSession(
            history=_open_history(history),
            completer=self._completer,
            complete_while_typing=Condition(self._completable),
            complete_in_thread=True,
            multiline=True,
            key_bindings=self._keys(),
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            input=terminal_input,
            output=terminal_output,
            reserve_space_for_menu=6,
            enable_suspend=True,
        )
        self._session.default_buffer.on_text_changed += self._look
        self._signs: Signs = signs_for(self._session.output.encoding())

    async def read(self) -> str | None:
        while True:
            begun, self._begun = self._begun, ""
            typing = asyncio.create_task(
                self._session.prompt_async(
                    [("", "\n"), ("class:sign", f"{self._signs.prompt} ")],
                    prompt_continuation=self._continuation,
                    default=begun,
                ),
                name="typing",
            )
            try:
                text = await asyncio.shield(typing)
            except (EOFError, KeyboardInterrupt):
                return None
            except asyncio.CancelledError:
                self._begun = await self._give_way(typing)
                raise
            if text.strip():
                self._blanks.forget()
                return replace_surrogates(text)

    async def _give_way(self, typing: "asyncio.Task[str]") -> str:
        """Remove the line from the terminal, so that something else can be shown; returns what was typed."""
        text, app = self._session.default_buffer.text, self._session.app
        if not typing.done() and app.is_running:
            app.erase_when_done = True
            app.exit(result=text)
        try:
            return await typing
        except (EOFError, KeyboardInterrupt):
            return ""
        finally:
            app.erase_when_done = False

    def _offered(self) -> Iterator[ChatPrompt]:
        for prompt in self._prompts():
            self._blanks.offer(prompt.text, prompt.blanks)
            yield prompt

    def _look(self, buffer: Buffer) -> None:
        self._blanks.look(buffer.document.text_before_cursor)

    def _completable(self) -> bool:
        return is_completable(self._session.default_buffer.document.text_before_cursor)

    def _continuation(self, width: int, _line: int, _wraps: int) -> StyleAndTextTuples:
        return [("class:more", self._signs.dot.ljust(width))]

    def _toolbar(self) -> StyleAndTextTuples:
        if self._just_interrupted():
            return [("", f"  {_EXIT_HINT}")]
        if (span := self._open_blank()) is not None and self._session.default_buffer.complete_state is None:
            return [("", f"  {_blank_hint(span)}")]
        width = self._session.output.get_size().columns - 3
        return [("", f"  {self._status().toolbar(width, f' {self._signs.dot} ')}")]

    def _just_interrupted(self) -> bool:
        return self._clock() - self._interrupted_at < _TWICE_SECONDS

    def _open_blank(self, start: int = 0) -> BlankSpan | None:
        return self._blanks.find(self._session.default_buffer.text, start)

    def _keys(self) -> KeyBindingsBase:
        """Key bindings. During a history search (Ctrl-R) the keys are those of the search."""
        keys = KeyBindings()
        keys.add("enter")(self._enter)
        keys.add("c-o", filter=Condition(lambda: self._open_blank() is not None))(self._enter)
        keys.add("tab", filter=Condition(self._goes_to_blanks))(self._next_blank)
        keys.add(Keys.BracketedPaste, filter=Condition(self._blank_is_selected))(_paste_over)
        keys.add("escape", "enter")(_new_line)
        keys.add("c-c")(self._interrupt)
        keys.add("<sigint>")(self._interrupt)
        return merge_key_bindings([line_keys(), ConditionalKeyBindings(keys, ~is_searching)])

    def _enter(self, event: KeyPressEvent) -> None:
        """Accept a completion or a prompt's name, start a new line, go to the next blank, or send."""
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
            if self._blanks.look(buffer.document.text_before_cursor):
                _select(buffer, self._open_blank())
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif (prompt := self._completer.named(buffer.text)) is not None:
            buffer.document = Document(prompt.text)
            _select(buffer, self._open_blank())
        elif not _select(buffer, self._open_blank()):
            buffer.validate_and_handle()

    def _goes_to_blanks(self) -> bool:
        """Whether Tab goes to the next blank: not while it completes a word or moves in a menu."""
        menu = self._session.default_buffer.complete_state
        if menu is not None:
            only = len(menu.completions) == 1 and menu.current_completion is not None
            return only and self._open_blank() is not None
        return not self._completable() and self._open_blank() is not None

    def _next_blank(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        _select(buffer, self._open_blank(0 if buffer.complete_state else buffer.cursor_position))

    def _blank_is_selected(self) -> bool:
        selection = self._session.default_buffer.selection_state
        return selection is not None and selection.shift_mode

    def _interrupt(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            self._blanks.forget()
            buffer.reset()
        elif self._just_interrupted():
            event.app.exit(exception=EOFError())
        else:
            self._interrupted_at = self._clock()


def _new_line(event: KeyPressEvent) -> None:
    event.current_buffer.newline(copy_margin=False)


def _select(buffer: Buffer, span: BlankSpan | None) -> bool:
    """Select a blank, so that typing replaces it. False if there is none."""
    if span is None:
        return False
    buffer.complete_state = None
    buffer.cursor_position = span.start
    buffer.start_selection()
    if buffer.selection_state is not None:
        buffer.selection_state.enter_shift_mode()
    buffer.cursor_position = span.end
    return True


def _paste_over(event: KeyPressEvent) -> None:
    event.current_buffer.cut_selection()
    event.current_buffer.insert_text(event.data.replace("\r\n", "\n").replace("\r", "\n"))


def _blank_hint(span: BlankSpan) -> str:
    name, description = span.blank.name, clean_line(span.blank.description)
    return f"Fill in {name}{f' ({description})' if description else ''} or delete it. Tab goes to the next blank."


def _open_history(path: Path) -> History:
    """A history file that only its owner can read; in memory if the file cannot be written."""
    try:
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
