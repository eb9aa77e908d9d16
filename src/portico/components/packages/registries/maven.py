"""Maven Central, or the repositories and mirrors in the user's Maven settings, read over HTTP.

mvn itself is not used: it would first download a plugin of some fifty archives to fetch one of them.
"""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from portico.components.packages.archives.unpack import DEFAULT_LIMITS
from portico.components.packages.cache import PackageArchive
from portico.components.packages.errors import PackageNotFound, PackageRefused
from portico.components.packages.package import PackageName, is_exact
from portico.components.packages.registries.archive_file import PackageQuery
from portico.components.packages.registries.http_source import HttpSource
from portico.components.packages.registries.maven_settings import read_maven_settings
from portico.components.packages.versions.xml_document import child_text, read_xml
from portico.domain.errors import InvalidInput

_UNFINISHED = re.compile(r"alpha|beta|snapshot|preview|dev|rc|cr|[.-]m\d|[.-]b\d", re.IGNORECASE)
_LARGEST_METADATA = 4 * 1024 * 1024


class MavenRegistry:
    def find_local(self, query: PackageQuery, environ: Mapping[str, str]) -> PackageArchive | None:
        settings = read_maven_settings(environ)
        path = (
            settings.local_repository
            / _place(query.name)
            / query.version
            / _sources(query.name, query.version)
        )
        if not path.is_file():
            return None
        return _archive(query, query.version, path, "", "Maven's local repository")

    async def fetch(self, query: PackageQuery, folder: Path, environ: Mapping[str, str]) -> PackageArchive:
        settings = await asyncio.to_thread(read_maven_settings, environ)
        source = HttpSource(settings.http)
        if query.version and not is_exact(query.name, query.version):
            raise InvalidInput(
                f"{query.version} is not one version of {query.name}.",
                suggestion="Give an exact version, or leave it out for the latest.",
            )
        asked = query.version
        for repository in settings.repositories:
            base = f"{repository}/{_place(query.name)}"
            version = query.version or await _latest(source, base)
            asked = version or asked
            path = folder / _sources(query.name, version)
            address = f"{base}/{version}/{path.name}"
            # The repository names the latest version, and what is none must not reach a path.
            if not is_exact(query.name, version):
                continue
            if not await source.download(address, path, limit=DEFAULT_LIMITS.archive_bytes):
                continue
            verified = await _verify(source, address, path)
            where = urlsplit(repository).hostname or repository
            return _archive(query, version, path, verified, f"the sources jar at {where}")
        raise PackageNotFound(
            f"Maven's repositories have no sources of {query.name} {asked}".rstrip() + ".",
            suggestion="Check the name (group:artifact) and the version. Some packages are published without sources.",
        )


def _archive(query: PackageQuery, version: str, path: Path, verified: str, source: str) -> PackageArchive:
    return PackageArchive(name=query.name, version=version, path=path, source=source, verified=verified)


def _place(name: PackageName) -> str:
    group, _, artifact = name.name.partition(":")
    return f"{group.replace('.', '/')}/{artifact}"


def _sources(name: PackageName, version: str) -> str:
    return f"{name.name.partition(':')[2]}-{version}-sources.jar"


async def _latest(source: HttpSource, base: str) -> str:
    document = await source.read(f"{base}/maven-metadata.xml", limit=_LARGEST_METADATA)
    metadata = None if document is None else read_xml(document[0].decode(errors="replace"))
    if metadata is None:
        return ""
    release = child_text(metadata, "versioning/release")
    versions = [(one.text or "").strip() for one in metadata.iterfind("versioning/versions/version")]
    final = [one for one in versions if not _UNFINISHED.search(one)]
    # The release that a repository names may be an alpha.
    if final and release not in final:
        return max(final, key=lambda one: [int(digits) for digits in re.findall(r"\d+", one)])
    return release or child_text(metadata, "versioning/latest")


async def _verify(source: HttpSource, address: str, path: Path) -> str:
    """Verify a jar, and say how. PackageRefused if the repository's own checksum is another."""
    for kind in ("sha256", "sha1"):
        document = await source.read(f"{address}.{kind}", limit=4096)
        if document is None:
            continue
        with path.open("rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        words = document[0].decode(errors="replace").split()
        if not words or words[0].lower() != found:
            raise PackageRefused(
                f"The {kind} of {path.name} is not the one that the repository names.",
                suggestion="Nothing of it was kept. Tell the person: the repository or a mirror is wrong.",
            )
        return f"{kind} of the repository"
    return ""
