"""Key bindings and text decoding shared by every `prompt_toolkit` line."""

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


def line_keys() -> KeyBindings:
    """Base key bindings. They ignore mouse events: a pasted colour sequence looks like one and would raise."""
    keys = KeyBindings()
    keys.add(Keys.Vt100MouseEvent)(_ignore)
    return keys


def replace_surrogates(typed: str) -> str:
    """Text without surrogates: bytes that are not UTF-8 become replacement characters."""
    return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ignore(_event: KeyPressEvent) -> None:
    pass
