"""Versions such as 1.2.0 or 2.0.0-rc1."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Version:
    text: str

    @property
    def is_prerelease(self):
        return "-" in self.text

    def __str__(self):
        return self.text


def parse(text):
    return Version(text.strip())
