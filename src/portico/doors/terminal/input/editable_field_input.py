"""Editable line input for the fields of a question, on terminals that can move the cursor.

Ctrl-Z suspends to the shell.
"""

import sys

from prompt_toolkit import PromptSession
from prompt_toolkit.history import DummyHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.output import Output, create_output

from portico.doors.terminal.input.keyboard import line_keys, replace_surrogates


class EditableFieldInput:
    """An editable line without history."""

    def __init__(self, terminal_input: Input | None = None, terminal_output: Output | None = None) -> None:
        keys = line_keys()
        keys.add("escape", eager=True)(_decline)
        self._session: PromptSession[str] = PromptSession(
            history=DummyHistory(),
            key_bindings=keys,
            input=terminal_input,
            output=terminal_output or create_output(stdout=sys.stderr),
            enable_suspend=True,
        )
        clear_typeahead(self._session.input)

    async def read(self, prompt: str, *, secret: bool = False) -> str | None:
        try:
            # Signals are handled by the caller that runs the turn; Ctrl-C arrives as a key.
            return replace_surrogates(
                await self._session.prompt_async(prompt, is_password=secret, handle_sigint=False)
            )
        except (EOFError, KeyboardInterrupt):
            return None

    def close(self) -> None:
        """The terminal belongs to the program."""


def _decline(event: KeyPressEvent) -> None:
    event.app.exit(exception=EOFError())
