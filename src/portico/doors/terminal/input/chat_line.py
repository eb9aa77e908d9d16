"""Editable input line of a chat, with history, completion and key bindings.

Enter sends; Alt-Enter, a backslash at the end of a line, or pasted text make a prompt of several
lines. Ctrl-C clears the line, and leaves when it is empty and pressed twice; Ctrl-D leaves too.
Ctrl-Z goes back to the shell for a while, where there is one. What a kept prompt leaves open is
filled in or taken out before it is sent: Tab goes to the next, and so does Enter.
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
from portico.doors.terminal.input.prompt_blanks import BlankSpan, BlankTracker, KeptPrompt
from portico.doors.terminal.input.workspace_files import WorkspaceFiles
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import Signs, signs_for
from portico.files.private import make_private_folder

_TWICE_SECONDS = 2.0
_LEAVING = "Ctrl-C again, or Ctrl-D, leaves"
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
        prompts: Callable[[], Iterable[KeptPrompt]],
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
        """Take the line off the terminal, so that something else can be shown; what was typed in it."""
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

    def _offered(self) -> Iterator[KeptPrompt]:
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
            return [("", f"  {_LEAVING}")]
        if (place := self._open_blank()) is not None and self._session.default_buffer.complete_state is None:
            return [("", f"  {_wanted(place)}")]
        width = self._session.output.get_size().columns - 3
        return [("", f"  {self._status().toolbar(width, f' {self._signs.dot} ')}")]

    def _just_interrupted(self) -> bool:
        return self._clock() - self._interrupted_at < _TWICE_SECONDS

    def _open_blank(self, start: int = 0) -> BlankSpan | None:
        return self._blanks.find(self._session.default_buffer.text, start)

    def _keys(self) -> KeyBindingsBase:
        """While the history is searched, with Ctrl-R, the keys are those of the search."""
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
        """Take what is chosen or named in full, begin a new line, go to what is left open, or send."""
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
        """Whether Tab does: not where it completes a word, or goes through a menu."""
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


def _select(buffer: Buffer, place: BlankSpan | None) -> bool:
    """Go there, so that what is typed next stands in its stead. False without a place to go to."""
    if place is None:
        return False
    buffer.complete_state = None
    buffer.cursor_position = place.start
    buffer.start_selection()
    if buffer.selection_state is not None:
        buffer.selection_state.enter_shift_mode()
    buffer.cursor_position = place.end
    return True


def _paste_over(event: KeyPressEvent) -> None:
    event.current_buffer.cut_selection()
    event.current_buffer.insert_text(event.data.replace("\r\n", "\n").replace("\r", "\n"))


def _wanted(place: BlankSpan) -> str:
    name, description = place.blank.name, clean_line(place.blank.description)
    return (
        f"Fill in {name}{f' ({description})' if description else ''}, or take it out. Tab goes to the next."
    )


def _open_history(path: Path) -> History:
    """A history that only its owner can read; where none can be kept, one for this time."""
    try:
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
