"""The skills that a person allowed or denied, by id and fingerprint, in a private file.

A file that cannot be read or understood allows nothing, and is never written over.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.files.private import private_change, replace_private
from portico.files.regular import read_regular

_LIMIT = 4 * 1024 * 1024


class SkillDecisions(msgspec.Struct, frozen=True):
    """`allowed` has the fingerprint of each skill as it was when it was allowed."""

    version: Literal[1] = 1
    allowed: dict[str, str] = {}
    denied: tuple[str, ...] = ()


class SkillGrants:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> SkillDecisions:
        """InvalidInput for a broken file."""
        try:
            return codecs.decode_json(read_regular(self._path, limit=_LIMIT), SkillDecisions)
        except FileNotFoundError:
            return SkillDecisions()
        except (OSError, msgspec.DecodeError) as error:
            raise InvalidInput(
                f"{self._path} cannot be read: {error}.",
                suggestion="Fix the file, or move it away and allow your skills anew.",
            ) from error

    def allow(self, skills: Iterable[tuple[str, str]]) -> None:
        """Allow skills by id, each as it is now, which its fingerprint says."""
        with private_change(self._path):
            known, added = self.read(), dict(skills)
            denied = tuple(name for name in known.denied if name not in added)
            self._write(SkillDecisions(allowed={**known.allowed, **added}, denied=denied))

    def deny(self, names: Iterable[str]) -> None:
        with private_change(self._path):
            known, refused = self.read(), tuple(names)
            allowed = {name: value for name, value in known.allowed.items() if name not in refused}
            self._write(SkillDecisions(allowed=allowed, denied=tuple(sorted({*known.denied, *refused}))))

    def _write(self, decisions: SkillDecisions) -> None:
        replace_private(self._path, msgspec.json.format(msgspec.json.encode(decisions)))
