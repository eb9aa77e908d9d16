"""Which key stands for which of the agent's own answers to a request for permission."""

from collections.abc import Sequence

import msgspec

from portico.domain.events import PermissionOption

_LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
_WORDS = {"yes": "y", "always": "a", "no": "n"}


class KeyedOption(msgspec.Struct, frozen=True):
    """An option with its number, and with a letter if it is the first of its kind."""

    number: str
    letter: str
    option: PermissionOption


def keyed_options(options: Sequence[PermissionOption]) -> list[KeyedOption]:
    keyed: list[KeyedOption] = []
    free = dict(_LETTERS)
    for position, option in enumerate(options, start=1):
        keyed.append(KeyedOption(str(position), free.pop(option.kind, ""), option))
    return keyed


def chosen(options: Sequence[PermissionOption], answer: str) -> PermissionOption | None:
    """The option a person means by a number, a letter or a word; None when it is none of them.

    Nothing but an exact answer counts: an empty line is not a yes.
    """
    typed = answer.strip().lower()
    typed = _WORDS.get(typed, typed)
    matching = (keyed for keyed in keyed_options(options) if typed in (keyed.number, keyed.letter))
    return next((keyed.option for keyed in matching), None) if typed else None


def keys_in_words(options: Sequence[PermissionOption]) -> str:
    """The keys as a hint behind a question."""
    return "/".join(keyed.letter or keyed.number for keyed in keyed_options(options))
