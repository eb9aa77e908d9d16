"""Keys for the answers to a permission request: the agent's options, then Portico's scopes.

A scope keeps the decision for the session or permanently.
"""

import msgspec

from portico.domain.events import PermissionRequested
from portico.domain.values import PermissionScope
from portico.doors.terminal import labels

_LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "d"}
_WORDS = {"yes": "y", "always": "a", "no": "n"}
_SCOPES: tuple[tuple[PermissionScope, str, str], ...] = (
    ("session", "s", "for this session"),
    ("always", "g", "always"),
)


class KeyedOption(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with its number, and with a letter if it is the first of its kind."""

    number: str
    letter: str
    name: str
    option_id: str
    allows: bool
    scope: PermissionScope = "once"


def keyed_options(request: PermissionRequested) -> list[KeyedOption]:
    keyed: list[KeyedOption] = []
    free = dict(_LETTERS)
    for option in request.options:
        keyed.append(
            KeyedOption(
                number=str(len(keyed) + 1),
                letter=free.pop(option.kind, ""),
                name=labels.option_name(option),
                option_id=option.option_id,
                allows=option.kind.startswith("allow"),
            )
        )
    once = next((option for option in request.options if option.kind == "allow_once"), None)
    for scope, letter, words in _SCOPES if once is not None and request.rule is not None else ():
        if scope in request.scopes and once is not None:
            keyed.append(
                KeyedOption(
                    number=str(len(keyed) + 1),
                    letter=letter,
                    name=f"Allow {labels.title_text(request.rule or '')} {words}",
                    option_id=once.option_id,
                    allows=True,
                    scope=scope,
                )
            )
    return keyed


def find_keyed_option(request: PermissionRequested, answer: str) -> KeyedOption | None:
    """The option for a typed number, letter or word; None if there is none.

    Only exact answers count: an empty line is not a yes.
    """
    typed = answer.strip().lower()
    typed = _WORDS.get(typed, typed)
    matching = (keyed for keyed in keyed_options(request) if typed in (keyed.number, keyed.letter))
    return next(matching, None) if typed else None


def key_hint(request: PermissionRequested) -> str:
    """The keys as a hint behind a question."""
    return "/".join(keyed.letter or keyed.number for keyed in keyed_options(request))
