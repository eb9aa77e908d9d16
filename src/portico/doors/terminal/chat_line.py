"""The input line of a chat on a terminal.

Enter sends; Alt-Enter, a backslash at the end of a line, or pasted text make a prompt of several
lines. Ctrl-C clears the line, and leaves when it is empty and pressed twice; Ctrl-D leaves too.
Ctrl-Z goes back to the shell for a while, where there is one.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from portico.doors.terminal.chat_status import ChatStatus
from portico.doors.terminal.completing import ChatCompleter, completable
from portico.doors.terminal.look import Signs, signs_for
from portico.doors.terminal.prompting import KeptPrompt
from portico.doors.terminal.workspace_files import WorkspaceFiles

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
        self._clock = clock
        self._interrupted_at = float("-inf")
        self._begun = ""
        self._session: PromptSession[str] = PromptSession(
            history=_open_history(history),
            completer=ChatCompleter(status, WorkspaceFiles(Path(status().workspace)), prompts),
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
                return text

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

    def _completable(self) -> bool:
        return completable(self._session.default_buffer.document.text_before_cursor)

    def _continuation(self, width: int, _line: int, _wraps: int) -> StyleAndTextTuples:
        return [("class:more", self._signs.dot.ljust(width))]

    def _toolbar(self) -> StyleAndTextTuples:
        if self._just_interrupted():
            return [("", f"  {_LEAVING}")]
        width = self._session.output.get_size().columns - 3
        return [("", f"  {self._status().toolbar(width, f' {self._signs.dot} ')}")]

    def _just_interrupted(self) -> bool:
        return self._clock() - self._interrupted_at < _TWICE_SECONDS

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        keys.add("enter")(_enter)
        keys.add("escape", "enter")(_new_line)
        keys.add("c-c")(self._interrupt)
        keys.add("<sigint>")(self._interrupt)
        return keys

    def _interrupt(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            buffer.reset()
        elif self._just_interrupted():
            event.app.exit(exception=EOFError())
        else:
            self._interrupted_at = self._clock()


def _enter(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.complete_state and buffer.complete_state.current_completion:
        buffer.complete_state = None
    elif buffer.document.current_line_before_cursor.endswith("\\"):
        buffer.delete_before_cursor()
        buffer.newline(copy_margin=False)
    else:
        buffer.validate_and_handle()


def _new_line(event: KeyPressEvent) -> None:
    event.current_buffer.newline(copy_margin=False)


def _open_history(path: Path) -> History:
    """A history that only its owner can read; where none can be kept, one for this time."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
