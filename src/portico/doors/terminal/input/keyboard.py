"""Key bindings and text decoding shared by every `prompt_toolkit` line."""

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


def line_keys() -> KeyBindings:
    """Keys to add to. A colour that is pasted as it is looks like a mouse, which would end in a traceback."""
    keys = KeyBindings()
    keys.add(Keys.Vt100MouseEvent)(_ignore)
    return keys


def replace_surrogates(typed: str) -> str:
    """What was typed, as text: bytes that are none come in as halves of characters, and leave as a sign for that."""
    return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ignore(_event: KeyPressEvent) -> None:
    pass
