"""Names and versions of packages: checked before they reach a path, a URL or a command line."""

import re
import unicodedata
from typing import Literal

import msgspec

from portico.domain.errors import InvalidInput

Ecosystem = Literal["crates", "pypi", "npm", "go", "maven"]

_LONGEST_NAME = 214
_LONGEST_VERSION = 128
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.~-]*"
_NAMES: dict[Ecosystem, tuple[re.Pattern[str], str]] = {
    "crates": (re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}"), "serde_json"),
    "pypi": (re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"), "requests"),
    "npm": (re.compile(rf"(?:@{_PART}/)?{_PART}"), "react or @types/node"),
    "go": (re.compile(rf"[A-Za-z0-9][A-Za-z0-9.-]*(?:/{_PART})*"), "golang.org/x/text"),
    "maven": (re.compile(rf"{_PART}:{_PART}"), "org.slf4j:slf4j-api"),
}
_EXACT = re.compile(r"v?[0-9][A-Za-z0-9.+_!-]*")
_EXACT_MAVEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")
_RANGE = re.compile(r"[A-Za-z0-9<>=^~*!][A-Za-z0-9.,<>=^~*!+ |_-]*")


class PackageName(msgspec.Struct, frozen=True):
    """A package by its name in its registry, in the spelling that the registry itself uses."""

    ecosystem: Ecosystem
    name: str

    @classmethod
    def parse(cls, ecosystem: Ecosystem, text: str) -> "PackageName":
        """The name as the registry spells it. InvalidInput for what cannot be one."""
        pattern, example = _NAMES[ecosystem]
        name = text.strip()
        if odd := next((letter for letter in name if not letter.isascii()), None):
            known = unicodedata.name(odd, "an unnamed character")
            raise InvalidInput(
                f"“{_shown(name)}” has the character U+{ord(odd):04X} ({known}); names of packages are ASCII.",
                suggestion=f"Write the name in ASCII, like {example}.",
            )
        if len(name) > _LONGEST_NAME or not pattern.fullmatch(name) or ".." in name:
            raise InvalidInput(
                f"“{_shown(name)}” is not a name of a package in {ecosystem}.",
                suggestion=f"Give a name like {example}.",
            )
        return cls(ecosystem, normalize_python(name) if ecosystem == "pypi" else name)

    def __str__(self) -> str:
        return self.name


def normalize_python(name: str) -> str:
    """A name of PyPI in its normal form, in which spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_version(text: str) -> str:
    """A version or range that can be asked for. InvalidInput for anything else, such as a URL."""
    version = text.strip()
    if len(version) > _LONGEST_VERSION or not _RANGE.fullmatch(version):
        raise InvalidInput(
            f"“{_shown(version)}” is not a version.",
            suggestion="Give a version such as 1.2.3, or leave it out for the one that the workspace uses.",
        )
    return version


def is_exact(name: PackageName, version: str) -> bool:
    """Whether this names one version, and no range of them."""
    if name.ecosystem == "maven":
        return _EXACT_MAVEN.fullmatch(version) is not None
    if not _EXACT.fullmatch(version):
        return False
    # "1.2" is a range for cargo and npm, a version for pip, and a query for go.
    return (
        name.ecosystem == "pypi"
        or version.split("+", maxsplit=1)[0].split("-", maxsplit=1)[0].count(".") >= 2
    )


def _shown(text: str) -> str:
    plain = text if text.isprintable() else ascii(text)
    return plain if len(plain) <= 80 else f"{plain[:79]}…"
