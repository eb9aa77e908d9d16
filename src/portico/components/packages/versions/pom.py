"""Dependencies with a version in Maven's pom.xml."""

import re
from collections.abc import Iterator, Mapping

from portico.components.packages.package import PackageName
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.versions.xml_document import XmlElement, child_text, read_xml
from portico.components.packages.workspace_reader import WorkspaceReader

_PROPERTY = re.compile(r"\$\{([^}]+)\}")


def pom_versions(files: WorkspaceReader, name: PackageName) -> Iterator[LockedVersion]:
    """Versions of dependencies, also those that a parent manages for its modules."""
    group, _, artifact = name.name.partition(":")
    for path in files.find({"pom.xml"}):
        project = read_xml(files.read(path, limit=4 * 1024 * 1024) or "")
        if project is None:
            continue
        properties = _properties(project)
        for one in project.iter("dependency"):
            if (child_text(one, "groupId"), child_text(one, "artifactId")) == (group, artifact):
                version = _substituted(child_text(one, "version"), properties)
                if version and "$" not in version and version[0] not in "[(":
                    yield LockedVersion(version=version, origin=path)


def _substituted(text: str, properties: Mapping[str, str]) -> str:
    return _PROPERTY.sub(lambda found: properties.get(found[1], found[0]), text)


def _properties(project: XmlElement) -> Mapping[str, str]:
    found = project.find("properties")
    known = {} if found is None else {one.tag: (one.text or "").strip() for one in found}
    return {**known, "project.version": child_text(project, "version")}
