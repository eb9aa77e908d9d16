"""Limits of a confined program: what it may read, write and reach, as a value for every backend."""

import os
from collections.abc import Set
from pathlib import Path
from typing import Literal

import msgspec

Access = Literal["hidden", "readable", "writable"]
_RANK: dict[Access, int] = {"hidden": 0, "readable": 1, "writable": 2}


TEMPORARY = Path("/tmp")
_REPLACED = frozenset({Path("/dev"), Path("/run")})


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """Everything can be read but what is `hidden`, and nothing can be written but what is `writable`.

    The rule for the deepest path wins, so a folder can be shown inside of a hidden one. `temporary` stands for
    `/tmp`. The `network` is open when it is None, and otherwise has the hosts that may be reached, as `host:port`.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    temporary: Path | None = None
    network: tuple[str, ...] | None = None

    @property
    def replaced(self) -> Set[Path]:
        """Folders of the system in whose place Linux programs see others, with what a rule shows of them."""
        return _REPLACED if self.temporary is None else _REPLACED | {TEMPORARY}

    def rules(self, *, unseen: Set[Path] = frozenset()) -> list[tuple[Path, Access]]:
        """One rule for each path, without links, outermost first. Paths that do not exist are left out.

        Of the `unseen` folders the program sees nothing but what a rule shows.
        """
        rules: dict[Path, Access] = {}
        given: tuple[tuple[tuple[Path, ...], Access], ...] = (
            (self.hidden, "hidden"),
            (self.readable, "readable"),
            (self.writable, "writable"),
        )
        for paths, access in given:
            for path in paths:
                if path.exists():
                    rules[Path(os.path.realpath(path))] = access
        ordered = sorted(rules.items(), key=lambda rule: (len(rule[0].parts), _RANK[rule[1]]))
        return [rule for rule in ordered if not _follows(rule, rules, unseen)]


def _follows(rule: tuple[Path, Access], rules: dict[Path, Access], unseen: Set[Path]) -> bool:
    """Whether a rule says what holds anyway."""
    path, access = rule
    if access == "writable":
        return False
    for parent in path.parents:
        if parent in rules:
            return rules[parent] == access
        if parent in unseen:
            return access == "hidden"
    return access == "readable"


class SandboxUnavailable(Exception):
    """A backend cannot confine a program so; the message says why, and what to do."""
