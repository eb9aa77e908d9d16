"""Which of an agent's own options says yes, and which says no.

An id that an agent gave to options of different meaning says neither.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from portico.acp import _schema as acp

Meaning = Literal["allow", "reject"]


class Choices:
    def __init__(self, options: Sequence[acp.PermissionOption]) -> None:
        self._kinds: dict[str, set[str]] = {}
        for option in options:
            self._kinds.setdefault(option.option_id, set()).add(option.kind)

    def __contains__(self, option_id: object) -> bool:
        return option_id in self._kinds

    def meaning(self, option_id: str) -> Meaning | None:
        """What choosing an option says; None if it is not offered, or may say both."""
        kinds = self._kinds.get(option_id, set())
        if _all_begin_with("allow", kinds):
            return "allow"
        return "reject" if _all_begin_with("reject", kinds) else None

    @property
    def allow_once(self) -> str | None:
        """The option that allows this one time and surely no more."""
        return next((option for option, kinds in self._kinds.items() if kinds == {"allow_once"}), None)

    @property
    def reject(self) -> str | None:
        """The mildest way the agent offers to say no."""
        for mild in ("reject_once", "reject_always"):
            for option, kinds in self._kinds.items():
                if mild in kinds and _all_begin_with("reject", kinds):
                    return option
        return None


def _all_begin_with(meaning: Meaning, kinds: Iterable[str]) -> bool:
    found = list(kinds)
    return bool(found) and all(kind.startswith(meaning) for kind in found)
