"""Modules in go.mod and go.sum."""

import re
from collections.abc import Iterator

from portico.components.packages.package import PackageName
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.workspace_reader import WorkspaceReader

_REQUIRED = re.compile(r"^\s*(?:require\s+)?([^\s()/][^\s()]*)\s+(v[0-9][^\s]*)", re.MULTILINE)
_REPLACED = re.compile(r"^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+([^\s.]\S*)\s+(v[0-9]\S*)", re.MULTILINE)


def go_versions(files: WorkspaceReader, name: PackageName) -> Iterator[LockedVersion]:
    """The version of the module that is named, or that contains the package of this name."""
    for path in files.find({"go.mod"}):
        text = re.sub(r"//[^\n]*", "", files.read(path) or "")
        sums = _read_sums(files.read(path.replace("go.mod", "go.sum")) or "")
        required = dict(_REQUIRED.findall(text))
        replaced = {old: (new, version) for old, new, version in _REPLACED.findall(text)}
        modules = [one for one in (*replaced, *required) if f"{name.name}/".startswith(f"{one}/")]
        for module in sorted(modules, key=len, reverse=True)[:1]:
            new, version = replaced.get(module, (module, required.get(module, "")))
            checksum = sums.get((new, version))
            yield LockedVersion(
                version=version,
                origin=path,
                checksums=() if checksum is None else (checksum,),
                module=new if new != name.name else "",
            )


def _read_sums(text: str) -> dict[tuple[str, str], str]:
    lines = (line.split() for line in text.splitlines())
    return {(words[0], words[1]): words[2] for words in lines if len(words) == 3}
