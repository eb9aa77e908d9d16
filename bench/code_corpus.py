"""Questions about three real packages, with answers that were found by reading the sources."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import msgspec

from bench.report import MeasurementFailed
from portico.domain import codecs

QUESTIONS = Path(__file__).with_name("code_questions.json")
Language = Literal["python", "typescript", "go"]
LANGUAGES: tuple[Language, ...] = ("python", "typescript", "go")
Kind = Literal["definition", "references", "implementations", "callers", "callees", "symbols"]


class Question(msgspec.Struct, frozen=True):
    """Question about a name on a line, which counts from one.

    Symbols are asked of a file, or of the workspace by a name. `owner` is the class that a method belongs to.
    """

    kind: Kind
    path: str
    line: int
    symbol: str
    answer: tuple[str, ...]
    """All places that a right answer names, as path:line; or all names, for the symbols of a file."""
    also: tuple[str, ...] = ()
    """Places that it may name: the definition itself, imports, or anything in a file."""
    owner: str = ""
    names: tuple[str, ...] = ()
    """The answer for those who tell names instead of places."""

    @property
    def names_are_asked(self) -> bool:
        return self.kind == "symbols" and bool(self.path)

    def is_answered_by(self, found: frozenset[str]) -> bool:
        """Whether places or names are all of the answer, and no place is a false one within the package."""
        if self.names_are_asked or not any(":" in one for one in found):
            names = set(self.answer if self.names_are_asked else self.names)
            return bool(names) and found >= names
        allowed = {*self.answer, *self.also}
        return found >= set(self.answer) and all(
            place in allowed or place.rpartition(":")[0] in allowed for place in found
        )


class Corpus(msgspec.Struct, frozen=True):
    """A package in a pinned version."""

    package: str
    questions: tuple[Question, ...]


def load() -> dict[Language, Corpus]:
    return codecs.decode_json(QUESTIONS.read_bytes(), dict[Language, Corpus])


def cache_folder() -> Path:
    """Folder in which packages and peers are kept between runs."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "portico-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fetch_sources(language: Language, package: str) -> Path:
    """The folder of a package's sources, from its registry by its own client, unless it is there already."""
    place = cache_folder() / "sources" / re.sub(r"\W+", "-", package)
    if place.is_dir():
        return place
    parts = place.with_name(f"{place.name}.part")
    shutil.rmtree(parts, ignore_errors=True)
    (parts / "download").mkdir(parents=True)
    made = _FETCHERS[language](package, parts / "download")
    made.rename(place)
    shutil.rmtree(parts, ignore_errors=True)
    return place


def _fetch_from_pypi(package: str, folder: Path) -> Path:
    run(
        (
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(folder / "out"),
            package,
        )
    )
    for other in (folder / "out").glob("*.dist-info"):
        shutil.rmtree(other)
    return folder / "out"


def _fetch_from_npm(package: str, folder: Path) -> Path:
    run(("npm", "pack", "--silent", "--pack-destination", str(folder), package))
    (archive,) = folder.glob("*.tgz")
    run(("tar", "--extract", "--file", str(archive), "--directory", str(folder)))
    made = folder / "out"
    made.mkdir()
    # What is built from the sources would double every answer.
    for name in ("src", "tsconfig.json", "package.json"):
        (folder / "package" / name).rename(made / name)
    return made


def _fetch_from_go(package: str, folder: Path) -> Path:
    environ = {**os.environ, "GOMODCACHE": str(folder / "modules"), "GOFLAGS": "-modcacherw"}
    told = run(("go", "mod", "download", "-json", package), environ)
    return Path(json.loads(told)["Dir"]).rename(folder / "out")


_FETCHERS = {"python": _fetch_from_pypi, "typescript": _fetch_from_npm, "go": _fetch_from_go}


def run(command: tuple[str, ...], environ: dict[str, str] | None = None) -> bytes:
    """Output of a program. MeasurementFailed if it fails."""
    # The pins of this project are not meant for others.
    own = {name: value for name, value in (environ or os.environ).items() if "CONSTRAINT" not in name}
    done = subprocess.run(command, env=own, capture_output=True, timeout=900, check=False)
    if done.returncode != 0:
        raise MeasurementFailed(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout
