"""Versions of Python packages: their order, and the ranges of them, as PEP 440 has them."""

import re
from typing import NamedTuple

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<stage>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<number>\d*))?"
    r"(?P<post>(?:[-_.]?(?:post|rev|r)[-_.]?\d*)|-\d+)?(?P<dev>[-_.]?dev[-_.]?\d*)?(?P<local>\+[a-z0-9._-]+)?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)?\s*([A-Za-z0-9.!+*_-]+)\s*")
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_DEVELOPED, _FINAL = -1, 3
_RELEASED = 1_000_000_000
"""Stands where a development version has its number, which comes before the release."""


class PythonVersion(NamedTuple):
    """Compares as PEP 440 orders versions. `release` has no zeros at its end."""

    epoch: int
    release: tuple[int, ...]
    stage: int
    number: int
    post: int
    developed: int

    @property
    def is_final(self) -> bool:
        return self.stage == _FINAL and self.developed == _RELEASED


def parse_python_version(text: str) -> PythonVersion | None:
    """A version; None for what is not one. Local parts, after `+`, do not count."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    post, dev = _digits(found["post"]), _digits(found["dev"])
    stage = _STAGES.get((found["stage"] or "").lower(), _FINAL)
    if stage == _FINAL and found["dev"] and not found["post"]:
        stage = _DEVELOPED  # 1.0.dev1 comes before 1.0a1.
    return PythonVersion(
        int(found["epoch"] or 0),
        tuple(release),
        stage,
        int(found["number"] or 0),
        post if found["post"] else -1,
        dev if found["dev"] else _RELEASED,
    )


def satisfies(text: str, wanted: str) -> bool:
    """Whether a version is in a range such as `>=1.2,<2`; a bare version means itself."""
    version = parse_python_version(text)
    if version is None:
        return False
    return all(_holds(version, text, clause) for clause in wanted.split(",") if clause.strip())


def _holds(version: PythonVersion, text: str, clause: str) -> bool:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        return False
    sign, bound = found[1] or "==", found[2]
    if bound.endswith(".*"):
        matches = _begins(version, bound[:-2])
        return matches if sign == "==" else not matches if sign == "!=" else False
    other = parse_python_version(bound)
    if other is None or sign == "===":
        return text == bound
    if sign == "~=":
        return version >= other and _begins(version, bound.rpartition(".")[0])
    return {
        "==": version == other,
        "!=": version != other,
        "<": version < other,
        "<=": version <= other,
        ">": version > other,
        ">=": version >= other,
    }[sign]


def _begins(version: PythonVersion, text: str) -> bool:
    parts = tuple(int(part) for part in text.split(".") if part.isdigit())
    padded = version.release + (0,) * len(parts)
    return bool(parts) and padded[: len(parts)] == parts


def _digits(text: str | None) -> int:
    found = re.search(r"\d+", text or "")
    return int(found[0]) if found else 0
