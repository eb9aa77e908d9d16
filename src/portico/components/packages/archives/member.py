"""Members of an archive: their paths, checked before anything is written, and the limits on all of them together."""

import os
import re
import unicodedata
from typing import Literal

import msgspec

from portico.components.packages.errors import PackageRefused

MemberKind = Literal["file", "folder", "link"]

_LONGEST_PART = 255
_LONGEST_PATH = 1024
_DEEPEST = 40
_DRIVE = re.compile(r"[A-Za-z]:")
# Control characters, and those that change how the rest of a name is shown.
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class ArchiveMember(msgspec.Struct, frozen=True):
    """`target` is where a link leads."""

    path: str
    kind: MemberKind
    target: str = ""


class UnpackLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for the content of an archive. Real packages have at most a few thousand files and compress about tenfold."""

    archive_bytes: int = 256 * 1024 * 1024
    unpacked_bytes: int = 512 * 1024 * 1024
    files: int = 50_000
    ratio: int = 200
    ratio_from_bytes: int = 16 * 1024 * 1024


def refuse(reason: str) -> PackageRefused:
    """The failure for an archive that is not unpacked."""
    return PackageRefused(
        f"The archive was refused: {reason}.",
        suggestion="Nothing of it was kept. Do not work around this: tell the person.",
    )


def safe_path(name: str) -> str:
    """The path of a member inside its archive, in normal form. PackageRefused for one that is not inside."""
    shown = shown_name(name)
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        raise refuse(f"{shown} is an absolute path")
    if "\\" in name:
        raise refuse(f"{shown} has a backslash, which is a separator on Windows")
    odd = next((one for one in name if unicodedata.category(one) in _UNSHOWN), None)
    if odd is not None:
        raise refuse(f"{shown} has the character U+{ord(odd):04X}, which cannot be seen")
    parts = [part for part in unicodedata.normalize("NFC", name).split("/") if part not in ("", ".")]
    if ".." in parts:
        raise refuse(f"{shown} climbs out of the package")
    path = "/".join(parts)
    if any(len(part.encode()) > _LONGEST_PART for part in parts) or len(path.encode()) > _LONGEST_PATH:
        raise refuse(f"{shown} is too long")
    if len(parts) > _DEEPEST:
        raise refuse(f"{shown} is nested too deep")
    if os.name == "nt" and any(part != part.rstrip(" .") or ":" in part for part in parts):
        raise refuse(f"{shown} means another file on Windows")
    return path


def check_link(path: str, target: str) -> None:
    """PackageRefused for a link that leads out of the package. Others are left out when it is unpacked."""
    if target.startswith(("/", "\\")) or _DRIVE.match(target):
        raise refuse(f"the link {shown_name(path)} leads to the absolute path {shown_name(target)}")
    depth = path.count("/")
    for part in target.replace("\\", "/").split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            raise refuse(f"the link {shown_name(path)} leads out of the package")


def shown_name(name: str) -> str:
    """A name from an archive as an error shows it."""
    plain = name if name.isprintable() else ascii(name)
    return f"“{plain if len(plain) <= 80 else plain[:79] + '…'}”"
