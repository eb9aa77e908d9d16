"""Pinned versions in requirements files of pip."""

import re
from collections.abc import Iterator

from portico.components.packages.package import PackageName, normalize_python
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.workspace_reader import WorkspaceReader

_FILE = re.compile(r"(?:requirements|constraints).*\.(?:txt|lock)")
_PIN = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*={2,3}\s*([A-Za-z0-9.+!_-]+)")
_HASH = re.compile(r"--hash[= ]([a-z0-9]+:[0-9a-f]+)")
_FOLDERS = ("", "requirements/")


def requirements_versions(files: WorkspaceReader, name: PackageName) -> Iterator[LockedVersion]:
    """Versions pinned with `==`, in the root of the workspace and in its folder `requirements`."""
    for path in _paths(files):
        text = (files.read(path) or "").replace("\\\r\n", " ").replace("\\\n", " ")
        for line in text.splitlines():
            pin = _PIN.match(line)
            if pin is not None and normalize_python(pin[1]) == name.name:
                yield LockedVersion(version=pin[2], origin=path, checksums=tuple(_HASH.findall(line)))


def _paths(files: WorkspaceReader) -> Iterator[str]:
    for folder in _FOLDERS:
        for one in files.names(folder):
            if _FILE.fullmatch(one) or (folder and one.endswith(".txt")):
                yield f"{folder}{one}"
