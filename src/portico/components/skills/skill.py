"""A skill: a folder with a SKILL.md, as its author wrote it.

Nothing in the folder is run, and no link in it is followed. Its text comes from its source and grants nothing.
"""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from portico.domain.secret_files import is_private
from portico.files import real_path
from portico.files.folders import OpenFolder, open_folder
from portico.files.regular import read_descriptor

FILE_NAME = "SKILL.md"
LARGEST_TEXT = 256 * 1024
LARGEST_FOLDER = 8 * 1024 * 1024
MOST_FILES = 300
_DEEPEST = 8
_LONGEST_NAME = 64
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

SourceKind = Literal["user", "workspace", "pypi", "npm", "cargo"]


class InvalidSkill(Exception):
    """The skill cannot be used. The message says why, without a period."""


class SkillSource(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a skill."""

    kind: SourceKind
    package: str = ""
    version: str = ""

    @property
    def is_package(self) -> bool:
        return bool(self.package)

    @property
    def prefix(self) -> str:
        """The first part of the ids of its skills."""
        return f"{self.kind}:{self.package}/" if self.package else f"{self.kind}:"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.package, self.version)))


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that was read. `folder` is its real path; `text` is SKILL.md without front matter."""

    name: str
    description: str
    source: SkillSource
    folder: Path
    fingerprint: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.source.prefix}{self.name}"


class SkillText(msgspec.Struct, frozen=True):
    name: str
    description: str
    body: str


def read_skill(folder: Path, source: SkillSource) -> Skill:
    """Read the skill in a folder, given by its real path. Blocks. InvalidSkill if it is none, or is too large."""
    try:
        files = _read_files(folder)
    except OSError as error:
        name = Path(str(error.filename or folder)).name
        raise InvalidSkill(f"{name} cannot be read: {error.strerror}") from error
    data = files.get(FILE_NAME)
    if data is None:
        raise InvalidSkill(f"{FILE_NAME} is not a regular file")
    if len(data) > LARGEST_TEXT:
        raise InvalidSkill(f"{FILE_NAME} is larger than {LARGEST_TEXT >> 10} KB")
    text = _parse(data)
    return Skill(
        name=text.name,
        description=text.description,
        source=source,
        folder=folder,
        fingerprint=_fingerprint(files),
        text=text.body,
    )


@lru_cache(maxsize=2048)
def _parse(data: bytes) -> SkillText:
    """Parse a SKILL.md. Most calls are for a file that has been parsed before."""
    # Late: YAML takes long to import, and most workspaces have no skill.
    from portico.domain.front_matter import InvalidFrontMatter, pairs, split_document, text_of

    try:
        root, body, _ = split_document(data.decode("utf-8-sig").replace("\r\n", "\n"))
        if root is None:
            raise InvalidSkill("it has no front matter with name and description")
        found = dict(pairs(root, "the front matter"))
        name, description = (
            text_of(found[key], key).strip() if key in found else "" for key in ("name", "description")
        )
    except UnicodeDecodeError as error:
        raise InvalidSkill(f"it is not UTF-8 (byte {error.start + 1})") from error
    except InvalidFrontMatter as error:
        raise InvalidSkill(f"line {error.line}: {error.reason}") from error
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST_NAME:
        raise InvalidSkill(
            f"its name {name[:_LONGEST_NAME]!a} is not valid: use up to 64 lowercase letters, digits and hyphens"
        )
    if not description:
        raise InvalidSkill("it has no description")
    return SkillText(name, " ".join(description.split()), body.strip("\n"))


def _fingerprint(files: Mapping[str, bytes | None]) -> str:
    """Hash of every name and byte in a folder."""
    digest = hashlib.sha256()
    for name in sorted(files):
        for part in (os.fsencode(name), files[name] or b""):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def read_resource(skill: Skill, path: str) -> bytes:
    """A file of the skill's folder. InvalidSkill if it is outside, a link, a secret or too large."""
    place = Path(os.path.normpath(skill.folder / path))
    if not place.is_relative_to(skill.folder) or place == skill.folder:
        raise InvalidSkill(f"{path} is outside of the folder of the skill {skill.name}")
    if is_private(place.relative_to(skill.folder).parts):
        raise InvalidSkill(f"{path} may hold secrets, so it is not shown")
    try:
        return real_path.read(place, limit=LARGEST_FOLDER)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidSkill(f"{path} cannot be read: {reason}") from error


def list_resources(folder: Path) -> list[str]:
    """The files of a skill beside its SKILL.md."""
    names = [name for name, data in _read_files(folder).items() if data is not None and name != FILE_NAME]
    return sorted(name for name in names if not is_private(name.split("/")))


def _read_files(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder by its path; None for what is no regular file. InvalidSkill if it is too much."""
    files: dict[str, bytes | None] = {}
    with open_folder(folder) as opened:
        _read_into(files, opened, "", 0)
    return files


def _read_into(files: dict[str, bytes | None], folder: OpenFolder, above: str, depth: int) -> None:
    with folder.scan() as entries:
        facts = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    left = LARGEST_FOLDER - sum(len(data or b"") for data in files.values())
    for name, fact in facts:
        if len(files) >= MOST_FILES or depth > _DEEPEST:
            raise InvalidSkill(f"its folder has more than {MOST_FILES} files, or is nested too deeply")
        if stat.S_ISDIR(fact.st_mode):
            with folder.folder(name) as inner:
                _read_into(files, inner, f"{above}{name}/", depth + 1)
        elif not stat.S_ISREG(fact.st_mode):
            files[f"{above}{name}"] = None
        elif fact.st_size > left:
            raise InvalidSkill(f"its folder has more than {LARGEST_FOLDER >> 20} MB")
        else:
            data = read_descriptor(folder.open(name), Path(name), limit=left)
            files[f"{above}{name}"] = data
            left -= len(data)
