"""Versions such as 1.2.0 or 2.0.0-rc1."""

import re
from dataclasses import dataclass, field

_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:-([a-z]+)(\d*))?")


@dataclass(frozen=True, order=True)
class Version:
    """Ordered by its numbers; a pre-release comes before its version."""

    numbers: tuple
    stage: tuple
    text: str = field(compare=False)

    @property
    def is_prerelease(self):
        return not self.stage[0]

    def __str__(self):
        return self.text


def parse(text):
    text = text.strip()
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"not a version: {text!r}")
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    stage = (True, "", 0) if found[2] is None else (False, found[2], int(found[3] or 0))
    return Version(tuple(numbers), stage, text)
