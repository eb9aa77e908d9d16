"""Folders in which skills are found: of the user, of the workspace, and of packages that are installed for it.

| source    | folders                                                                                     |
|-----------|---------------------------------------------------------------------------------------------|
| user      | `skills` in Portico's config folder, `~/.agents/skills`, `~/.claude/skills`                  |
| workspace | `.portico/skills`, `.agents/skills`, `.claude/skills`                                        |
| pypi      | `<package>/.agents/skills` in the site-packages of `.venv` or `venv`                         |
| npm       | `skills` and `.agents/skills` of each package in `node_modules`                              |
| cargo     | `skills`, or what `[package.metadata.symposium]` says, of each crate in Cargo.lock           |
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from portico.components.packages.package import normalize_python
from portico.components.skills.skill import FILE_NAME, SkillSource
from portico.config.paths import config_folder
from portico.files.regular import read_regular

_OF_WORKSPACE = (".portico/skills", ".agents/skills", ".claude/skills")
_OF_USER = (".agents/skills", ".claude/skills")
_OF_NPM = ("skills", ".agents/skills")
_ENVIRONMENTS = (".venv", "venv")
_MANIFEST_LIMIT = 8 * 1024 * 1024
_RECORD_LIMIT = 16 * 1024 * 1024
_MOST_SKILLS = 100
_DEEPEST = 3
_LOCKED_CRATE = re.compile(
    r'^\[\[package\]\]\nname = "([\w-]+)"\nversion = "([\w.+-]+)"\nsource = "registry\+', re.MULTILINE
)
_PACKAGE = re.compile(r"(?:@[\w.-]+/)?[\w.-]{1,214}", re.ASCII)
_VERSION = re.compile(r"[\w.+!-]{1,100}", re.ASCII)
_DISTRIBUTION = re.compile(r"(.+)-([^-]+)\.dist-info")


class SkillFolder(msgspec.Struct, frozen=True):
    """The real path of a folder with a SKILL.md, as far as its name says. `problem` is one with the path itself."""

    folder: Path
    source: SkillSource
    problem: str = ""


def find_skill_folders(workspace: Path, environ: Mapping[str, str]) -> Iterator[SkillFolder]:
    """All skills that a session in a workspace could use: the user's, the workspace's, then packages'. Blocks."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    user = SkillSource(kind="user")
    for place in (config_folder(environ) / "skills", *(home / name for name in _OF_USER)):
        yield from _skills_in(place, None, user)
    of_workspace = SkillSource(kind="workspace")
    for name in _OF_WORKSPACE:
        yield from _skills_in(workspace / name, workspace, of_workspace)
    for environment in _ENVIRONMENTS:
        for site in _site_packages(workspace / environment):
            yield from _python_skills(site)
    yield from _node_skills(workspace / "node_modules")
    yield from _crate_skills(workspace, environ, home)


def _skills_in(place: Path, root: Path | None, source: SkillSource) -> Iterator[SkillFolder]:
    """The skills in a folder of skills. None of them may lead out of `root`, links resolved."""
    real = Path(os.path.realpath(place))
    ground = None if root is None else Path(os.path.realpath(root))
    if ground is not None and not real.is_relative_to(ground):
        if os.path.lexists(place):
            yield SkillFolder(place, source, "it is a link to a folder outside")
        return
    if source.is_package and _PACKAGE.fullmatch(source.package) is None:
        return  # Agents see its name, and this one may be anything.
    waiting, found = [(real, 0)], 0
    while waiting and found < _MOST_SKILLS:
        folder, depth = waiting.pop(0)
        for name in _names(folder):
            inner = Path(os.path.realpath(folder / name))
            if name.startswith(".") or not inner.is_dir():
                continue
            if ground is not None and not inner.is_relative_to(ground):
                yield SkillFolder(folder / name, source, "it is a link to a folder outside")
            elif os.path.lexists(inner / FILE_NAME):
                found += 1
                yield SkillFolder(inner, source)
            elif depth + 1 < _DEEPEST:
                waiting.append((inner, depth + 1))


def _site_packages(environment: Path) -> Iterator[Path]:
    for pattern in ("lib/python*/site-packages", "Lib/site-packages"):
        try:
            yield from sorted(environment.glob(pattern))
        except OSError:
            continue


def _python_skills(site: Path) -> Iterator[SkillFolder]:
    names = _names(site)
    distributions: dict[str, list[tuple[str, str]]] | None = None
    for name in names:
        skills = f"{site}/{name}/.agents/skills"
        if name.endswith(".dist-info") or not os.path.isdir(skills):  # noqa: PTH112 - it is asked of every package
            continue
        if distributions is None:
            distributions = {}
            for one in names:
                if (found := _DISTRIBUTION.fullmatch(one)) is not None:
                    distributions.setdefault(normalize_python(found[1]), []).append((found[2], one))
        package, version = _distribution_of(site, name, distributions)
        source = SkillSource(kind="pypi", package=package, version=version)
        yield from _skills_in(Path(skills), site / name, source)


def _distribution_of(
    site: Path, folder: str, distributions: Mapping[str, list[tuple[str, str]]]
) -> tuple[str, str]:
    """The distribution that a package was installed by, as its RECORD says, and its version."""
    wanted, likely = f"{folder}/.agents/skills/".encode(), normalize_python(folder)
    for package in chain((likely,), distributions):
        for version, info in distributions.get(package, ()):
            try:
                if wanted in read_regular(site / info / "RECORD", limit=_RECORD_LIMIT):
                    return package, version if _VERSION.fullmatch(version) else ""
            except OSError:
                continue
    return likely, ""


def _node_skills(modules: Path) -> Iterator[SkillFolder]:
    for name in _names(modules):
        inner = [f"{name}/{one}" for one in _names(modules / name)] if name.startswith("@") else [name]
        for package in inner:
            for place in _OF_NPM:
                skills = f"{modules}/{package}/{place}"
                if os.path.isdir(skills):  # noqa: PTH112 - it is asked of every package
                    version = _package_version(modules / package)
                    source = SkillSource(kind="npm", package=package, version=version)
                    yield from _skills_in(Path(skills), modules / package, source)


def _package_version(folder: Path) -> str:
    try:
        version = json.loads(read_regular(folder / "package.json", limit=_MANIFEST_LIMIT))["version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else ""


def _crate_skills(workspace: Path, environ: Mapping[str, str], home: Path) -> Iterator[SkillFolder]:
    try:
        lock = read_regular(workspace / "Cargo.lock", limit=_MANIFEST_LIMIT).decode(errors="replace")
    except OSError:
        return
    registry = Path(environ.get("CARGO_HOME") or home / ".cargo") / "registry" / "src"
    crates = [(name, version) for name, version in _LOCKED_CRATE.findall(lock.replace("\r\n", "\n"))]
    for index in _names(registry):
        for name, version in crates:
            crate = registry / index / f"{name}-{version}"
            for place in _crate_places(crate):
                source = SkillSource(kind="cargo", package=name, version=version)
                yield from _skills_in(crate / place, crate, source)


def _crate_places(crate: Path) -> list[str]:
    """The folders of skills that a crate's manifest names; `skills` if it names none."""
    try:
        data = read_regular(crate / "Cargo.toml", limit=_MANIFEST_LIMIT)
    except OSError:
        return []
    if b"metadata.symposium" not in data:
        return ["skills"]
    try:
        manifest: Any = tomllib.loads(data.decode(errors="replace"))
        groups = manifest["package"]["metadata"]["symposium"].get("skills")
    except (tomllib.TOMLDecodeError, RecursionError, KeyError, TypeError, AttributeError):
        return ["skills"]
    if groups is None:
        return ["skills"]
    places = []
    for group in groups if isinstance(groups, list) else []:
        source = group.get("source", group) if isinstance(group, dict) else None
        place = source.get("path") if isinstance(source, dict) else None
        if isinstance(place, str) and "\0" not in place:
            places.append(place)
    return places


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are what is asked for
    except OSError:
        return []
