"""Choice of the protocol version."""

from collections.abc import Sequence

from portico.doors.ahp import _schema as ahp

_Version = tuple[int, int, int]


def choose_version(offered: Sequence[str]) -> str | None:
    """The highest offered version that is compatible with a supported one; None if there is none."""
    supported = [_parse(one) for one in ahp.SUPPORTED_PROTOCOL_VERSIONS]
    fitting = [
        (found, one)
        for one in offered
        if (found := _parse(one)) is not None and any(_fits(found, base) for base in supported if base)
    ]
    return max(fitting)[1] if fitting else None


def _parse(text: str) -> _Version | None:
    match text.split("."):
        case [major, minor, patch] if all(
            part.isascii() and part.isdigit() for part in (major, minor, patch)
        ):
            return int(major), int(minor), int(patch)
        case _:
            return None


def _fits(version: _Version, base: _Version) -> bool:
    """Whether a version is at least the base, with the same first number that is not zero."""
    fixed = next((place for place, number in enumerate(base) if number), 2)
    return version >= base and version[: fixed + 1] == base[: fixed + 1]
