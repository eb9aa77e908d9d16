"""Findings of research, kept with the version they are about, and reused for the same question."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from portico.components.packages.library import PackageSource
from portico.components.packages.package import Ecosystem
from portico.config.paths import state_folder
from portico.domain import codecs
from portico.files.failures import file_failure
from portico.files.private import make_private_folder, replace_private
from portico.files.regular import read_regular

MOST_KEPT = 500
_LARGEST = 256 * 1024


class Findings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An answer to a question about one version of a package. `key` names the files and the question."""

    key: str
    ecosystem: Ecosystem
    name: str
    version: str
    question: str
    answer: str
    at: int
    """Milliseconds since the epoch."""
    seconds: float = 0.0
    returned: bool = True
    """Whether the agent returned the answer; if not, it is what it said last."""


def findings_key(source: PackageSource, question: str) -> str:
    """The identity of a question: the files, whose path has their fingerprint, and the words."""
    words = " ".join(question.casefold().split())
    text = "\0".join((source.name.ecosystem, source.name.name, source.version, str(source.tree.root), words))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


class FindingsStore:
    """Findings as files in the state folder. All methods block."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = state_folder(environ) / "research"

    def find(self, key: str) -> Findings | None:
        return self._read(self._folder / f"{key}.json")

    def all(self) -> list[Findings]:
        """All findings, the newest first."""
        found = [self._read(path) for path in self._paths()]
        return sorted((one for one in found if one is not None), key=lambda one: one.at, reverse=True)

    def add(self, findings: Findings) -> None:
        path = self._folder / f"{findings.key}.json"
        try:
            make_private_folder(self._folder)
            replace_private(path, msgspec.json.encode(findings))
        except OSError as error:
            raise file_failure(error, path) from error
        if len(self._paths()) > MOST_KEPT:
            for old in self.all()[MOST_KEPT:]:
                (self._folder / f"{old.key}.json").unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))

    def _read(self, path: Path) -> Findings | None:
        with suppress(OSError, msgspec.DecodeError):
            return codecs.decode_json(read_regular(path, limit=_LARGEST), Findings)
        return None
